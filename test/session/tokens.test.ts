import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { estimateTokens } from '../../src/session/text/tokens.ts';
import { expectLinear } from '../support/growth.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const root = new URL('../..', import.meta.url).pathname;
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const readAll = (dir: string) =>
  readdirSync(join(root, dir), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(`${dir}/${name}`));
const digest = (n: number) => createHash('sha512').update(String(n)).digest();
const digests = Buffer.concat(Array.from({ length: 200 }, (_, n) => digest(n)));

const prose = `The model is shown what the lists name, and nothing else. Lower levels override upper ones: a line is a path, a
directory or a pattern, and a later line wins. What cannot be followed is left out with a reason, which is said.

- **containment**: a path obeys the rules of a plan's paths at every level (no way out, no symlink out);
- binary files and files over 256 KiB are listed with their size, but not shown, unless they are named alone.
`;

const samples: [kind: string, texts: string[]][] = [
  ['TypeScript', [...readAll('src/session'), ...readAll('src/workflow/line'), ...readAll('src/workflow/run')]],
  ['Markdown', [read('README.md'), read('src/README.md'), prose]],
  ['JSON', [read('package-lock.json').slice(0, 200_000), read('package.json')]],
  ['YAML', [stringify(JSON.parse(read('package.json'))), read('node_modules/siginfo/.travis.yml')]],
  ['minified code', [read('node_modules/diff/dist/diff.min.js')]],
  ['base64', [digests.toString('base64')]],
  ['Chinese', ['我们需要检查每一个文件，然后再决定是否显示它的内容。软件工程是一门研究用工程化方法构建软件的学科。']],
  [
    'Russian',
    ['Мы проверяем каждый файл и затем решаем, показывать ли его содержимое модели. Изменения сохраняются в ветке.'],
  ],
  ['emoji', ['🎉 ✅ Done! 😀😃 👩‍💻 works on 🐛 and 🔥, then 💡 → ship it 🚢 ⚠️ 👍🏽']],
];

test.each(samples.map(([kind, texts]) => ({ kind, texts })))(
  "the estimate for $kind is within 15 % of a tokenizer's count",
  ({ texts }) => {
    const counted = texts.reduce((sum, text) => sum + countTokens(text), 0);
    const estimated = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
    expect(estimated / counted).toBeGreaterThan(0.85);
    expect(estimated / counted).toBeLessThan(1.15);
  },
);

test('no file in this project is estimated at less than 0.8 or more than 1.3 of its tokens', () => {
  for (const text of samples.flatMap(([, texts]) => texts)) {
    const ratio = estimateTokens(text) / countTokens(text);
    expect(ratio, text.slice(0, 80)).toBeGreaterThan(0.8);
    expect(ratio, text.slice(0, 80)).toBeLessThan(1.3);
  }
});

propertyTest('an empty text has no tokens, and every other text has at least one', () => {
  expect(estimateTokens('')).toBe(0);
  for (const blank of [' ', '\t', '  ', '\u00e9']) expect(estimateTokens(blank)).toBeGreaterThanOrEqual(1);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1 }), (text) => {
      expect(estimateTokens(text)).toBeGreaterThanOrEqual(1);
    }),
  );
});

test('a mebibyte takes four times as long as a quarter of it', async () => {
  const text = read('package-lock.json').repeat(10);
  await expectLinear(1 << 20, (length) => text.slice(0, length), estimateTokens);
});
