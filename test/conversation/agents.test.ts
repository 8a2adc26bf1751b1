import { describe, expect, test } from 'vitest';
import { renderProtocol } from '../../src/plan/protocol.ts';
import {
  agentNames,
  defaultAgent,
  findAgent,
  listPrompts,
  toAgentTemplate,
  withoutTemplateNote,
} from '../../src/conversation/prompts/agents.ts';

const none = new Map<string, string>();
const builtin = ['architect', 'debugger', 'dev', 'pathfinder', 'reviewer'];

describe('agents', () => {
  test.each(builtin)('%s comes with teddy', (name) => {
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
    for (const name of agentNames(own)) {
      expect(findAgent(name, own).text.endsWith(`\n${renderProtocol({ canSearch: false }).trim()}\n`)).toBe(true);
    }
  });

  test('RESEARCH is in it where there is a command for it', () => {
    const [without = '', withIt = ''] = listPrompts('dev', none, 'ask');
    expect([without, withIt].map((text) => text.includes('RESEARCH'))).toEqual([false, true]);
    expect(findAgent('dev', none, { mode: 'ask', canSearch: true }).text).toBe(withIt);
  });

  test('every prompt says how to read the sections of the request', () => {
    const { text } = findAgent('mine', new Map([['mine', 'Mine.']]));
    for (const section of ['memos', 'history', 'tree', 'file', 'message']) expect(text).toContain(`\`${section}\``);
  });

  test('the prompt of a conversation says how files are written, and that commands are not for it', () => {
    const { text } = findAgent('dev', none, { mode: 'chat' });
    expect(text).toContain('Commands are not for writing files');
    expect(findAgent('dev', none).text).not.toContain('Commands are not for writing files');
  });

  test('an unknown name is refused with the names that there are', () => {
    expect(() => findAgent('constructor', new Map([['mine', 'Mine.']]))).toThrow(
      expect.objectContaining({
        code: 'UNKNOWN_AGENT',
        hint: `Choose one of: ${['architect', 'debugger', 'dev', 'mine', 'pathfinder', 'reviewer'].join(', ')}.`,
      }),
    );
  });

  test('have names of which each stands once, the own ones among them', () => {
    expect(agentNames(none)).toEqual(builtin);
    expect(
      agentNames(
        new Map([
          ['dev', 'x'],
          ['a', 'x'],
        ]),
      ),
    ).toEqual(['a', ...builtin]);
  });

  test('a built-in prompt mentions no section and no action that the protocol does not have', () => {
    for (const name of builtin) {
      const own = withoutTemplateNote(toAgentTemplate(name));
      const words = new Set(own.match(/\b[A-Z]{4,}\b/g));
      for (const word of words) expect(renderProtocol({ canSearch: false }), `${name}: ${word}`).toContain(word);
    }
  });

  test('the template of a new agent explains itself, in a comment that is taken out again', () => {
    const template = toAgentTemplate('release-notes');
    expect(template).toMatch(/^<!--\n[^]*-->\n# release-notes\n/);
    expect(withoutTemplateNote(template)).toMatch(/^# release-notes\n/);
    expect(withoutTemplateNote(toAgentTemplate('dev'))).toMatch(/^# Dev\n/);
    expect(withoutTemplateNote('<!-- mine -->\n# Mine\n')).toBe('<!-- mine -->\n# Mine\n');
  });
});
