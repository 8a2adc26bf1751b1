import { describe, expect, test } from 'vitest';
import {
  decideSetting,
  parseSetting,
  parseSettingName,
  requireUsable,
} from '../../src/session/settings/decide-setting.ts';
import { settings, type SettingName } from '../../src/session/settings/settings.ts';

const from = (origin: string, text: string | undefined) => ({ origin, text });

describe('a value', () => {
  test.each<[SettingName, string, string]>([
    ['model', ' meta-llama/Llama-3.1:free ', 'meta-llama/Llama-3.1:free'],
    ['maxTurns', '1', '1'],
    ['temperature', '-0.5', '-0.5'],
    ['timeout', '0.5', '0.5'],
    ['redact', 'OFF', 'false'],
    ['redact', '1', 'true'],
    ['snapshot', 'none', 'none'],
    ['snapshot', 'all', 'all'],
    ['baseUrl', 'http://127.0.0.1:8080/v1', 'http://127.0.0.1:8080/v1'],
    ['assistedBy', 'No', 'false'],
    ['assistedBy', ' TRUE', 'true'],
    ['assistedBy', 'Assisted-by: {tool}:{model} [teddy]', 'Assisted-by: {tool}:{model} [teddy]'],
    ['assistedBy', 'AI-Assisted: yes', 'AI-Assisted: yes'],
    ['assistedByHook', 'on', 'true'],
  ])('for %s may be %j, read as %j', (name, text, value) => {
    expect(parseSetting(name, text)).toEqual({ value });
  });

  test.each<[SettingName, string]>([
    ['model', 'a\u001B[2Jb'],
    ['model', 'a\nb'],
    ['model', 'gpt\u202E5'],
    ['model', 'x'.repeat(1001)],
    ['maxTurns', '0'],
    ['maxTurns', '-1'],
    ['maxTurns', '1.5'],
    ['maxTurns', '1e3'],
    ['maxTokens', '9'.repeat(16)],
    ['temperature', 'warm'],
    ['temperature', 'Infinity'],
    ['timeout', '0'],
    ['timeout', '1e9'],
    ['timeout', '2147484'],
    ['redact', 'maybe'],
    ['provider', 'oracle'],
    ['baseUrl', 'ftp://example.org'],
    ['baseUrl', 'https://me:secret@example.org'],
    ['baseUrl', 'https://example.org/v1?key=1'],
  ])('for %s cannot be %j', (name, text) => {
    expect(parseSetting(name, text)).toEqual({ problem: expect.stringMatching(/^it takes \S/) });
  });
});

test.each([
  ['maybe', 'it takes true, false, or one trailer of at most 200 characters, such as "Assisted-by: {tool}:{model}"'],
  ['{model}: x', 'it takes true'],
  ['Assisted by: {model}', 'it takes true'],
  ['Assisted-by:{model}', 'it takes true'],
  ['Assisted-by: ', 'it takes true'],
  ['-by: {model}', 'it takes true'],
  ['Assisted-by: {model}\nSigned-off-by: {model}', 'it takes true'],
  ['Assisted-by: {model}\u2028x', 'it takes true'],
  ['Assisted-by: \u202E{model}', 'it takes true'],
  [`Assisted-by: ${'x'.repeat(200)}`, 'it takes true'],
  ['signed-off-by: {model}', 'signed-off-by is for people: with it, a person vouches for the change'],
  ['Co-authored-by: {model} <a@b.c>', 'Co-authored-by is for people'],
  ['Reviewed-By: {model}', 'Reviewed-By is for people'],
  ['Teddy-Landed-From: {model}', "Teddy-Landed-From is one of teddy's own trailers"],
  ['Assisted-by: {modle}', 'it may have the placeholders {tool} and {model}, but "{modle}" is neither'],
  ['Assisted-by: {model', 'it may have the placeholders {tool} and {model}, but "{model" is neither'],
  ['Assisted-by: model}', 'it may have the placeholders {tool} and {model}, but "}" is neither'],
])('no trailer is made from the form %j', (text, problem) => {
  expect(parseSetting('assistedBy', text)).toEqual({ problem: expect.stringContaining(problem) });
});

describe('the first source with a value', () => {
  test('decides, and an empty one counts as no value', () => {
    const sources = [
      from('environment TEDDY_MODEL', ' '),
      from('git config', undefined),
      from('file', 'm'),
      from('z', 'n'),
    ];
    expect(decideSetting('model', sources)).toEqual({ name: 'model', value: 'm', origin: 'file', problem: null });
    expect(decideSetting('model', [])).toEqual({ name: 'model', value: null, origin: 'default', problem: null });
  });

  test('for a setting with its own number is named in the hint', () => {
    const found = decideSetting('write.maxBytes', [from('git config (local .git/config)', '1k')]);
    expect(() => requireUsable(found)).toThrow(
      expect.objectContaining({ hint: 'Change it with `git config teddy.write.maxBytes 10485760`.' }),
    );
  });

  test('decides even if it is invalid: no later one replaces it', () => {
    const found = decideSetting('maxTurns', [from('git config (global ~/.gitconfig)', 'many'), from('file', '5')]);
    expect(found).toMatchObject({ value: 'many', problem: 'it takes a whole number above 0' });
    expect(() => requireUsable(found)).toThrow(
      expect.objectContaining({
        code: 'BAD_SETTING',
        message: 'teddy.maxTurns is "many" (git config (global ~/.gitconfig)), and it takes a whole number above 0.',
        hint: 'Change it with `git config --global teddy.maxTurns 50`.',
      }),
    );
  });

  test('is not repeated if it is a URL, which may contain a password', () => {
    const found = decideSetting('baseUrl', [from('environment OPENAI_BASE_URL', 'https://me:hidden@example.org')]);
    expect(JSON.stringify(found)).not.toContain('hidden');
    expect(() => requireUsable(found)).toThrow(
      expect.objectContaining({
        message: expect.not.stringContaining('hidden'),
        hint: 'Change or unset OPENAI_BASE_URL.',
      }),
    );
  });
});

test('a name is recognized with or without `teddy.`, in any case, and the nearest one is suggested', () => {
  expect(parseSettingName('teddy.MAXTURNS')).toBe('maxTurns');
  expect(parseSettingName('maxturns')).toBe('maxTurns');
  for (const [text, nearest] of [
    ['maxTurn', 'maxTurns'],
    ['modle', 'model'],
    ['base-url', 'baseUrl'],
    ['OPENAI_BASE_URL', 'baseUrl'],
  ]) {
    expect(() => parseSettingName(text ?? '')).toThrow(
      expect.objectContaining({ code: 'BAD_SETTING', hint: expect.stringContaining(`Is it ${nearest}?`) }),
    );
  }
});

test('no name is suggested for one that is far from all', () => {
  for (const text of ['wombat', '', 'x'.repeat(5000)])
    expect(() => parseSettingName(text)).toThrow(expect.objectContaining({ hint: '`teddy config` lists them all.' }));
});

test('tracked files cannot set an endpoint, provider, recording, time limit or masking', () => {
  const tracked = settings.filter((setting) => setting.tracked).map(({ name }) => name);
  const expected = 'model agent contextTokens maxTurns maxTokens snapshot approvals assistedBy notes';
  expect(tracked).toEqual(expected.split(' '));
});
