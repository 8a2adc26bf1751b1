import { toNoModel } from '../../src/model/keyed-model.ts';
import { presets } from '../../src/session/settings/presets.ts';
import { expect, test } from 'vitest';
import { parseRetryAfter } from '../../src/model/failure.ts';

const now = Date.parse('2026-01-24T12:00:00Z');

test.each([
  ['20', 20_000],
  ['0.5', 500],
  ['0', 0],
  ['Sat, 24 Jan 2026 12:00:05 GMT', 5_000],
  ['Sat, 24 Jan 2026 11:00:00 GMT', 0],
  ['soon', null],
  ['', null],
  [null, null],
])('Retry-After %j means %j ms', (header, waitMs) => {
  expect(parseRetryAfter(header, now)).toBe(waitMs);
});

test.each([
  [
    'openai',
    { ANTHROPIC_API_KEY: 'k' },
    /^ANTHROPIC_API_KEY is set: `git config teddy\.provider anthropic` .*\bteddy\.model/,
  ],
  [
    'openai',
    { GEMINI_API_KEY: 'k', OPENROUTER_API_KEY: 'k' },
    /^GEMINI_API_KEY is set: .* gemini`.*OPENROUTER_API_KEY is set: /,
  ],
  ['anthropic', { OPENROUTER_API_KEY: 'k' }, /^Set ANTHROPIC_API_KEY.* OPENROUTER_API_KEY is set: .* openrouter`/],
  ['openai', { ANTHROPIC_API_KEY: '' }, /^Set OPENAI_API_KEY/],
  ['anthropic', {}, /^Set ANTHROPIC_API_KEY/],
] as const)('without a model for %s, the existing keys are named: %j', (name, env, hint) => {
  const preset = presets.find((one) => one.name === name);
  expect(preset && toNoModel(preset, false, env)).toMatchObject({
    code: 'NO_MODEL',
    hint: expect.stringMatching(hint),
  });
});
