import { expect, test, vi } from 'vitest';
import { masker } from '../../src/system/secrets/masker.ts';
import { letters } from '../support/planted-secrets.ts';

const secret = 'gh' + `p_${letters(36, 1)}`;

vi.mock('@secretlint/secretlint-rule-preset-recommend', () => ({
  rules: [
    {
      meta: { id: '@secretlint/secretlint-rule-github' },
      create: () => ({
        file: ({ content }: { content: string }) => Promise.reject(new Error(`broken at ${content}`)),
      }),
    },
  ],
}));

test('a failing rule is MASKING_FAILED, and the error quotes nothing from the text', async () => {
  const settings = { get: async () => undefined };
  const notices = { info: () => undefined, warn: () => undefined };
  const failure = await masker({ environment: {}, root: null, settings, notices })
    .mask(`token ${secret}`)
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'MASKING_FAILED' });
  const { message, stack, hint, cause } = failure as Error & { hint: string };
  expect([message, stack, hint, String(cause)].join()).not.toContain(secret);
});
