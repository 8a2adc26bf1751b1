/**
 * `npm run oracle`: compares everything that two executables print and serve for the same repositories, byte for byte.
 * The older one is from the commit in `base`, or another: `npm run oracle -- <commit>`, `npm run oracle -- <path of a
 * main.cjs>`.
 */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildCommit } from '../support/build-commit.ts';
import { meant } from './meant.ts';
import { readRepository, type Readings } from './readings.ts';
import { makeZoo } from './zoo.ts';

/** The commit that unified the reading side. */
const base = 'c09dc1579566717bc5110307fa3d744e66adc003';

// The bundle is in dist/.
const root = fileURLToPath(new URL('..', import.meta.url));

process.exitCode = await compare(process.argv[2] ?? base);

async function compare(older: string): Promise<number> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'teddy-oracle-')));
  const before = existsSync(older) ? older : buildCommit(root, older, join(directory, 'older'));
  const now = join(root, 'dist/main.cjs');
  const zoo = await makeZoo(now, directory);
  let [asked, differing] = [0, 0];
  try {
    for (const { name, root: repository } of zoo.repositories) {
      const [one, other] = [
        await readRepository({ path: before, env: zoo.env }, repository),
        await readRepository({ path: now, env: zoo.env }, repository),
      ];
      const differences = findDifferences(one, other);
      asked += new Set([...one.keys(), ...other.keys()]).size;
      differing += differences.length;
      for (const [at, { question, was, is }] of differences.entries())
        report(join(directory, 'differences', `${name}-${at}`), `${name}: ${question}`, was, is);
    }
  } finally {
    await zoo.close();
  }
  process.stdout.write(`${asked} readings, ${differing} differ\n`);
  if (differing > 0) process.stdout.write(`They are kept in ${join(directory, 'differences')}\n`);
  else rmSync(directory, { recursive: true });
  return differing > 0 ? 1 : 0;
}

interface Difference {
  question: string;
  was: string;
  is: string;
}

function findDifferences(before: Readings, now: Readings): Difference[] {
  return [...new Set([...before.keys(), ...now.keys()])].flatMap((question) => {
    const [was = '', is = ''] = [before, now].map((all) => mask(question, all.get(question) ?? 'was not asked'));
    return was === is ? [] : [{ question, was, is }];
  });
}

/** Removes intended differences, and transient values: ages, ports, nonces. */
function mask(question: string, text: string): string {
  return meant
    .filter(({ asked }) => asked.test(question))
    .reduce((rest, difference) => rest.replaceAll(difference.text, ''), text)
    .replaceAll(/\b\d+ (?:s|min|h|seconds?|minutes?|hours?)\b(?: ago)? */g, 'AGE ')
    .replaceAll(/recorded data [0-9a-f-]{36}/g, 'recorded data NONCE')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/"(?:durationMs|duration_ms|ms)": ?\d+/g, 'MS')
    .replaceAll(/(?:nonce-|nonce=")[\w+/=-]+/g, 'NONCE');
}

/** The first line that differs on stdout, and both texts in files. */
function report(path: string, question: string, was: string, is: string): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(`${path}.before`, was);
  writeFileSync(`${path}.now`, is);
  const [one, other] = [was.split('\n'), is.split('\n')];
  const at = one.findIndex((line, row) => line !== other[row]);
  const show = (line: string | undefined) => JSON.stringify((line ?? '').slice(0, 200));
  process.stdout.write(`${question}\n  - ${show(one[at])}\n  + ${show(other[at === -1 ? one.length : at])}\n`);
}
