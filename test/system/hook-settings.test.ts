/** Hooks in settings that somebody has written: everything else in the settings stays. */
import { parse } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import {
  addHooks,
  describeFault,
  findOwnHooks,
  removeHooks,
  stateOfHooks,
  type HookSpec,
} from '../../src/system/agents/hook-settings.ts';

const spec: HookSpec = {
  hooks: ['Stop', 'SessionEnd'].map((event) => ({
    event,
    entry: { type: 'command', command: 'sh ours', timeout: 10 },
  })),
  isOurs: (command) => command.includes('ours'),
};
const ours = { hooks: [{ type: 'command', command: 'sh ours', timeout: 10 }] };

const written: Record<string, string> = {
  empty: '',
  'an empty object': '{}\n',
  'an empty object over lines': '{\n}\n',
  'another key': '{\n  "model": "opus"\n}\n',
  'four blanks': '{\n    "model": "opus",\n    "hooks": {}\n}\n',
  'tabs and comments': '{\n\t// mine\n\t"a": [1, 2, 3], /* b */\n\t"hooks": {\n\t\t"Stop": [] // none\n\t}\n}\n',
  'a trailing comma':
    '{\n  "hooks": {\n    "Stop": [\n      { "hooks": [{ "command": "say done" }] },\n    ],\n  },\n}\n',
  'one line': '{"hooks":{"Stop":[{"matcher":"x","hooks":[{"command":"a"}]}]},"z":1}',
  'line ends of Windows': '{\r\n  "z": 1,\r\n  "hooks": {\r\n    "Other": [ { "hooks": [] } ]\r\n  }\r\n}\r\n',
  'a byte order mark': '\uFEFF{\n  "z": "ü"\n}\n',
  'no end of line': '{ "permissions": { "allow": ["Bash(ls:*)"] } }',
};

describe.each(Object.entries(written))('in %s', (_, text) => {
  const before = (text.trim() === '' ? {} : parse(text.replace('\uFEFF', ''))) as Record<string, unknown>;

  test('hooks are added once, beside existing ones', () => {
    expect(describeFault(text)).toBe(null);
    expect(stateOfHooks(text, spec)).toBe('missing');
    const added = addHooks(text, spec);
    expect(describeFault(added)).toBe(null);
    expect(stateOfHooks(added, spec)).toBe('installed');
    expect(addHooks(added, spec)).toBe(added);
    const after = parse(added.replace('\uFEFF', '')) as Record<string, Record<string, unknown[]>>;
    const hooks = (before['hooks'] ?? {}) as Record<string, unknown[]>;
    expect(after).toEqual({
      ...before,
      hooks: { ...hooks, Stop: [...(hooks['Stop'] ?? []), ours], SessionEnd: [ours] },
    });
    expect(added.startsWith('\uFEFF')).toBe(text.startsWith('\uFEFF'));
    if (text.includes('\r\n')) expect(added.replaceAll('\r\n', '')).not.toContain('\n');
  });

  test('every existing character is kept, in order', () => {
    const added = addHooks(text, spec);
    let at = 0;
    for (const character of text) {
      at = added.indexOf(character, at) + 1;
      expect(at).toBeGreaterThan(0);
    }
  });

  test('exactly our hooks are removed again', () => {
    const removed = removeHooks(addHooks(text, spec), spec);
    expect(findOwnHooks(removed, spec)).toEqual([]);
    for (const comment of text.match(/\/\*.*?\*\/|\/\/.*/g) ?? []) expect(removed).toContain(comment);
    const after = (parse(removed.replace('\uFEFF', '')) ?? {}) as Record<string, unknown>;
    const { hooks: hooksBefore = {}, ...restBefore } = before as { hooks?: Record<string, unknown[]> };
    const { hooks: hooksAfter = {}, ...restAfter } = after as { hooks?: Record<string, unknown[]> };
    expect(restAfter).toEqual(restBefore);
    const filled = Object.entries(hooksBefore).filter(([, groups]) => groups.length > 0);
    expect(hooksAfter).toEqual(Object.fromEntries(filled));
  });
});

test.each([
  '',
  '{}',
  '{\n  "mine": {\n    "Stop": [{ "command": "say done" }]\n  }\n}\n',
  '{"teddy":{"Stop":[{"command":"mine"}],"PreInvocation":[]}}',
])('where each program has a section, ours has our hooks without groups: %j', (text) => {
  const own = { ...spec, section: 'teddy' };
  const before = (text === '' ? {} : parse(text)) as Record<string, Record<string, unknown[]>>;
  const added = addHooks(text, own);
  const [hook] = ours.hooks;
  const { Stop = [], ...rest } = before['teddy'] ?? {};
  expect(parse(added)).toEqual({ ...before, teddy: { ...rest, Stop: [...Stop, hook], SessionEnd: [hook] } });
  expect([stateOfHooks(text, own), stateOfHooks(added, own)]).toEqual(['missing', 'installed']);
  expect(stateOfHooks(added.replace('"timeout"', '"enabled"'), own)).toBe('changed');
  expect(parse(removeHooks(added, own))).toEqual(parse(text === '' ? '{}' : text));
  expect(describeFault('{"teddy": {"Stop": {}}}', own)).toBe('has a "Stop" in its "teddy" that is not a list');
});

test('somebody’s own hook in the same group stays', () => {
  const text = addHooks('{}', spec).replace('"sh ours"', '"sh ours"}, {"command": "mine"');
  expect(stateOfHooks(text, spec)).toBe('changed');
  expect(parse(removeHooks(text, spec))).toEqual({ hooks: { Stop: [{ hooks: [{ command: 'mine', timeout: 10 }] }] } });
});

test('a changed or missing hook of ours is reported and renewed', () => {
  const text = addHooks('{"a":1}', spec);
  for (const changed of [text.replace('sh ours', 'sh -x ours'), text.replace('"SessionEnd"', '"SessionStart"')]) {
    expect(stateOfHooks(changed, spec)).toBe('changed');
    expect(stateOfHooks(addHooks(changed, spec), spec)).toBe('installed');
    expect(findOwnHooks(addHooks(changed, spec), spec)).toHaveLength(2);
  }
});

test.each([
  ['{', 'is not JSON'],
  ['[]', 'is JSON, but not an object'],
  ['{"hooks": []}', 'has "hooks" that are not an object'],
  ['{"hooks": {"Stop": {}}}', 'has a "Stop" in its "hooks" that is not a list'],
])('%s is left alone', (text, fault) => {
  expect(describeFault(text)).toBe(fault);
});
