import { describe, expect, test } from 'vitest';
import { renderProtocol } from '../../src/plan/protocol.ts';
import { defaultAgent, findAgent } from '../../src/session/agents.ts';

const none = new Map<string, string>();

describe('agents', () => {
  test.each(['pathfinder', 'dev'])('%s comes with teddy', (name) => {
    const agent = findAgent(name, none);
    expect(agent).toMatchObject({ name, source: 'builtin' });
    expect(agent.text.split('\n').length).toBeGreaterThan(30);
  });

  test('the default one exists', () => expect(findAgent(defaultAgent, none).name).toBe('pathfinder'));

  test("the repository's own agent goes before the one of the same name", () => {
    const agent = findAgent('dev', new Map([['dev', '# Our dev\n\nSpeak Latin.']]));
    expect(agent.source).toBe('own');
    expect(agent.text.startsWith('# Our dev\n\nSpeak Latin.\n')).toBe(true);
    expect(agent.text).not.toContain('small tested steps');
  });

  test('every prompt ends with the plan protocol', () => {
    const own = new Map([['mine', 'Mine.']]);
    for (const name of ['pathfinder', 'dev', 'mine']) {
      expect(findAgent(name, own).text.endsWith(`\n${renderProtocol().trim()}\n`)).toBe(true);
    }
  });

  test('every prompt says how to read the sections of the request', () => {
    const { text } = findAgent('mine', new Map([['mine', 'Mine.']]));
    for (const section of ['memos', 'history', 'tree', 'file', 'message']) expect(text).toContain(`\`${section}\``);
  });

  test('an unknown name is refused with the names that there are', () => {
    expect(() => findAgent('constructor', new Map([['mine', 'Mine.']]))).toThrow(
      expect.objectContaining({ code: 'UNKNOWN_AGENT', hint: 'Choose one of: dev, mine, pathfinder.' }),
    );
  });
});
