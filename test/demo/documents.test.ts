/**
 * Checks the claims in README.md and docs/: their tours are run as written, and their lists are compared with the
 * program. Generated tables: test/docs/generated.test.ts.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { internalCommands } from '../../src/cli/arguments.ts';
import { actionTypes } from '../../src/plan/actions/actions.ts';
import { settings } from '../../src/session/settings/settings.ts';
import { runHere } from '../support/run-here.ts';
import { environmentOf, teddyPath } from '../support/run-teddy.ts';
import { readWords } from '../support/shell-words.ts';
import { agentNames } from '../../src/conversation/prompts/agents.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const inDocs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
const pages = ['README.md', ...inDocs.map((name) => `docs/${name}`)];
const temporary = mkdtempSync(join(tmpdir(), 'teddy-readme-'));

afterAll(() => rmSync(temporary, { recursive: true }));

interface TourStep {
  command: string;
  /** Lines as shown on the page; `...` stands for any number of others. */
  shown: string[];
}

/** Each page continues at the end of the one before. */
const tours = [{ pages: ['README.md', 'docs/tour.md', 'docs/review.md', 'docs/sharing.md'], least: 25 }];

test('every page with runnable commands belongs to a tour', () => {
  const withCommands = pages.filter((path) => readTour(read(path)).length > 0);
  expect(withCommands.toSorted()).toEqual(tours.flatMap((tour) => tour.pages).toSorted());
});

test.each(tours)('every command in $pages prints the output on the page', { timeout: 300_000 }, async (tour) => {
  const steps = tour.pages.flatMap((path) => readTour(read(path)));
  expect(steps.length).toBeGreaterThan(tour.least);
  const outputs = await runTour(steps);
  for (const [index, { command, shown }] of steps.entries()) {
    const output = outputs[index] ?? '';
    const found = matchLines(shown.map(withoutIds), output.trimEnd().split('\n').map(withoutIds));
    expect(found ? 'as shown' : output, `$ ${command}`).toBe('as shown');
  }
});

test('the source tour names the commands that no list names', () => {
  for (const path of internalCommands) expect(read('src/README.md')).toContain(`\`teddy ${path}`);
});

test('the table of commands names exactly the existing commands', () => {
  const rows = section(read('docs/commands.md'), 'Commands').matchAll(/^\| `(teddy[^`]*)`/gm);
  const named = [...rows].map(([, name = '']) => name.replace(/ (?:[<[]|--|[.]{3}).*$/, ''));
  expect(named.toSorted()).toEqual(listCommands().toSorted());
});

test('the environment variables that set settings are among the listed ones', () => {
  const listed = section(read('docs/settings.md'), 'Environment variables');
  for (const { variable } of settings) if (variable !== undefined) expect(listed).toContain(`\`${variable}\``);
});

test('the table of agents has each agent that comes with teddy', () => {
  const listed = [...section(read('docs/plans.md'), 'Agents').matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
  expect(listed.toSorted()).toEqual(agentNames(new Map()));
});

test('the list of actions has each action that a plan may contain', () => {
  const listed = section(read('docs/plans.md'), 'What a plan may do');
  const names = [...listed.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name ?? '');
  const runnable = actionTypes.map(({ type }) => type);
  expect(names.toSorted()).toEqual(runnable.toSorted());
});

test.each(pages)('every file and heading that %s links to exists', (path) => {
  for (const [, target = '', heading] of read(path).matchAll(/\]\((?!https:)([^)#]*)(?:#([^)]+))?\)/g)) {
    const file = target === '' ? path : join(dirname(path), target);
    expect(() => read(file), target).not.toThrow();
    if (heading !== undefined) expect(listAnchors(read(file)), `${file}#${heading}`).toContain(heading);
  }
});

test('the page of measurements names each row that misses its target', () => {
  const text = read('docs/performance.md');
  const rows = [...text.matchAll(/^(\S.*?) {2,}.* (met|MISSED)$/gm)].map(([, what, aim]) => ({ what, aim }));
  const missed = rows.filter(({ aim }) => aim === 'MISSED').map(({ what }) => what);
  expect(text).toContain(
    `${rows.length - missed.length} of ${rows.length} rows meet their aim. These ${missed.length} miss it`,
  );
  expect([...text.matchAll(/^- (.+)$/gm)].map(([, what]) => what)).toEqual(missed);
});

test('the README and the tour are short enough to be read', () => {
  expect(Buffer.byteLength(read('README.md'))).toBeLessThan(10_000);
  expect(read('docs/tour.md').split('\n').length - 1).toBeLessThanOrEqual(150);
});

/** Forges make these anchors from headings. */
function listAnchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

function readTour(text: string): TourStep[] {
  const blocks = [...text.matchAll(/^```console\n(.*?)^```$/gms)].map(([, block]) => block ?? '');
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [command = '', ...shown] = part.trimEnd().split('\n');
        return { command, shown };
      }),
  );
}

/**
 * Runs all commands in one shell, so that `cd` counts. The checkout is a directory of links, because the tour leaves it
 * by `..`.
 */
async function runTour(steps: TourStep[]): Promise<string[]> {
  const own = mkdtempSync(join(temporary, 'tour-'));
  const checkout = join(own, 'checkout');
  const programs = join(own, 'bin');
  mkdirSync(checkout);
  mkdirSync(programs);
  symlinkSync(join(root, 'fixtures'), join(checkout, 'fixtures'));
  symlinkSync(teddyPath, join(programs, 'teddy'));
  const env = environmentOf({ PATH: `${programs}:${process.env['PATH']}` });
  const today = new Date().toISOString().slice(0, 10).replaceAll('-', '');
  const outputs: string[] = [];
  let cwd = checkout;
  for (const { command } of steps) {
    const line = command.replaceAll(/\b20\d{6}\b/g, today);
    const [program, ...words] = readWords(line) ?? [];
    if (program === 'teddy') {
      outputs.push((await runHere({ words, cwd, env })).printed);
    } else {
      const shell = await runShell(line, cwd, env);
      outputs.push(shell.output);
      cwd = shell.cwd;
    }
  }
  return outputs;
}

/** Returns its output, and the directory in which it ended. */
function runShell(line: string, cwd: string, env: Record<string, string>): Promise<{ output: string; cwd: string }> {
  const mark = '@@ the directory @@';
  const script = `exec 2>&1 </dev/null\n${line}\necho '${mark}'; pwd\n`;
  return new Promise((resolve) => {
    execFile('bash', ['-c', script], { cwd, env }, (_error, stdout) => {
      const [output = '', end = ''] = stdout.split(`${mark}\n`);
      resolve({ output, cwd: end.trim() });
    });
  });
}

/** Commits, days and times differ with each run. */
function withoutIds(line: string): string {
  return line
    .trimEnd()
    .replace(/\b20\d{6}\b/g, '<day>')
    .replace(/, \d+(?:\.\d)? (?:ms|s)$/, ', <time>')
    .replace(/\b[0-9a-f]{7,40}\b/g, '<commit>');
}

function matchLines(shown: string[], found: string[]): boolean {
  const [first, ...rest] = shown;
  if (first === undefined) return found.length === 0 || (found.length === 1 && found[0] === '');
  if (first !== '...') return found[0] === first && matchLines(rest, found.slice(1));
  return found.some((_line, at) => matchLines(rest, found.slice(at + 1))) || matchLines(rest, found);
}

/** Up to the next heading, whatever its level. */
function section(text: string, title: string): string {
  const found = text.split(/^#{1,3} /m).find((part) => part.startsWith(`${title}\n`));
  if (found === undefined) throw new Error(`The page has no section "${title}".`);
  return found;
}

/**
 * From the source, since help is written by hand. `teddy memo` and the like, in help.ts, only print existing commands.
 */
function listCommands(): string[] {
  const table = readFileSync(join(root, 'src/cli/run-cli.ts'), 'utf8');
  const all = [...table.matchAll(/^ {2}(?:'([a-z -]+)'|([a-z]+)): async \(\) => \(await import\(/gm)];
  const paths = all.map(([, quoted, word]) => quoted ?? word ?? '');
  return paths.filter((path) => !internalCommands.includes(path)).map((path) => `teddy ${path}`);
}
