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
  test.each(builtin)('include %s as a built-in one', (name) => {
    const agent = findAgent(name, none);
    expect(agent).toMatchObject({ name, source: 'builtin' });
    expect(agent.text.split('\n').length).toBeGreaterThan(30);
  });

  test('include the default one', () => expect(findAgent(defaultAgent, none).name).toBe('pathfinder'));

  test('in the repository take precedence over built-in ones of the same name', () => {
    const agent = findAgent('dev', new Map([['dev', '# Our dev\n\nSpeak Latin.']]));
    expect(agent.source).toBe('own');
    expect(agent.text.startsWith('# Our dev\n\nSpeak Latin.\n')).toBe(true);
    expect(agent.text).not.toContain('small tested steps');
  });

  test('have prompts that all end with the plan protocol', () => {
    const own = new Map([['mine', 'Mine.']]);
    for (const name of agentNames(own)) {
      expect(findAgent(name, own).text.endsWith(`\n${renderProtocol({ canSearch: false }).trim()}\n`)).toBe(true);
    }
  });

  test('can use RESEARCH if there is a command for it', () => {
    const [without = '', withIt = ''] = listPrompts('dev', none, 'ask');
    expect([without, withIt].map((text) => text.includes('RESEARCH'))).toEqual([false, true]);
    expect(findAgent('dev', none, { mode: 'ask', canSearch: true }).text).toBe(withIt);
  });

  test('have prompts that all explain the sections of the request', () => {
    const { text } = findAgent('mine', new Map([['mine', 'Mine.']]));
    for (const section of ['memos', 'history', 'tree', 'file', 'message']) expect(text).toContain(`\`${section}\``);
  });

  test('have a conversation prompt that explains writing files, and that commands are not for it', () => {
    const { text } = findAgent('dev', none, { mode: 'chat' });
    expect(text).toContain('Commands are not for writing files');
    expect(findAgent('dev', none).text).not.toContain('Commands are not for writing files');
  });

  test('are not found by an unknown name, and the error lists the existing ones', () => {
    expect(() => findAgent('constructor', new Map([['mine', 'Mine.']]))).toThrow(
      expect.objectContaining({
        code: 'UNKNOWN_AGENT',
        hint: `Choose one of: ${['architect', 'debugger', 'dev', 'mine', 'pathfinder', 'reviewer'].join(', ')}.`,
      }),
    );
  });

  test("are listed once by name, including the user's own", () => {
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

  test('have built-in prompts that mention only sections and actions in the protocol', () => {
    for (const name of builtin) {
      const own = withoutTemplateNote(toAgentTemplate(name));
      const words = new Set(own.match(/\b[A-Z]{4,}\b/g));
      for (const word of words) expect(renderProtocol({ canSearch: false }), `${name}: ${word}`).toContain(word);
    }
  });

  test('have a template that explains itself, in a comment that is removed again', () => {
    const template = toAgentTemplate('release-notes');
    expect(template).toMatch(/^<!--\n[^]*-->\n# release-notes\n/);
    expect(withoutTemplateNote(template)).toMatch(/^# release-notes\n/);
    expect(withoutTemplateNote(toAgentTemplate('dev'))).toMatch(/^# Dev\n/);
    expect(withoutTemplateNote('<!-- mine -->\n# Mine\n')).toBe('<!-- mine -->\n# Mine\n');
  });
});
