import { beforeAll, describe, expect, test } from 'vitest';
import type { Oid, RepoPath } from '../../../src/names.ts';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { replayLine } from '../../../src/workflow/replay/line.ts';
import type { Difference } from '../../../src/workflow/replay/replayed.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { flip, listSteps, tamper, type Tampering } from '../../support/tampering.ts';
import { command, create, edit, line, run, say, session, planOf } from '../../support/turns.ts';

const pair = (find: string, replace: string) =>
  `#### FIND:\n\`\`\`\n${find}\n\`\`\`\n#### REPLACE:\n\`\`\`\n${replace}\n\`\`\`\n`;

let project: MemoryProject;
let tip: Oid;
const entries = new Map<string, Oid>();

beforeAll(async () => {
  project = await given.session({ 'src/app.ts': 'const port = 80;\nlisten(port);\n' });
  project.command.run = () => project.write({ 'made.txt': 'by a command\n' }).then(() => ({ stdout: 'made\n' }));
  await say(
    project,
    'One',
    planOf([
      `${edit('src/app.ts', 'const port = 80;', 'const port = 81;')}${pair('listen', 'serve')}`,
      command('make'),
      create('a.txt', 'one\ntwo\n'),
    ]),
  );
  await run(project);
  await say(project, 'Two', planOf([edit('a.txt', 'two', 'three')]));
  await run(project);
  await say(project, 'Three', planOf([create('c.txt')]));
  tip = await project.tipOf(line);
  for (const { oid, entry } of await listSteps(project, tip))
    entries.set(`${entry?.kind} ${entry?.turn ?? ''}`.trim(), oid);
});

function at(name: string): Oid {
  const found = entries.get(name);
  if (found === undefined) throw new Error(`There is no entry ${name}.`);
  return found;
}

async function read(name: string, path: string): Promise<Uint8Array> {
  const found = await project.repository.store.readFile(at(name), path as RepoPath);
  if (found === null) throw new Error(`There is no ${path}.`);
  return found.bytes;
}

async function differencesOf(name: string, changes: Tampering[]): Promise<Difference[]> {
  const forged = await tamper(project, tip, at(name), changes);
  const { turns } = await replayLine(project, await findRecorded(project, forged));
  // Later turns differ as well, since they contain its result.
  return turns.filter((one) => one.turn === name.split(' ')[1]).flatMap(({ differences }) => differences);
}

const dir = `.teddy/sessions/${session}/01`;
const places: [kind: string, entry: string, path: string, action: number | null][] = [
  ['plan', 'plan 01', `${dir}/plan.md`, null],
  ['plan without a report', 'plan 03', `.teddy/sessions/${session}/03/plan.md`, null],
  ['report', 'report 01', `${dir}/report.md`, null],
  ['log', 'message 01', `${dir}/_context.log`, null],
  ['file that was edited', 'report 01', 'src/app.ts', 1],
  ['file that a command made', 'report 01', 'made.txt', 2],
  ['file that was created', 'report 01', 'a.txt', 3],
];

describe('one changed byte', () => {
  test('is needed: nothing differs without a change', async () => {
    expect((await replayLine(project, await findRecorded(project, tip))).turns).toMatchObject([
      { outcome: 'not_compared', differences: [], proven: 2, unproven: [{ path: 'made.txt', action: 2 }] },
      { outcome: 'same', differences: [] },
      { outcome: 'nothing_to_compare', differences: [] },
    ]);
  });

  test.each(places)('in a %s is detected wherever it is, by turn, action and path', async (_, entry, path, action) => {
    const bytes = await read(entry, path);
    const count = Math.min(bytes.length, 4);
    for (const part of Array.from({ length: count }, (_unused, i) => i / (count - 1))) {
      const offset = Math.round(part * (bytes.length - 1));
      const found = await differencesOf(entry, [{ path: path as RepoPath, bytes: flip(bytes, offset) }]);
      expect(found, `${path} at ${offset}`).toContainEqual(
        expect.objectContaining({ turn: entry.split(' ')[1], action, path }),
      );
    }
  });
});

describe('changed entries', () => {
  const plan = `${dir}/plan.md` as RepoPath;

  async function forgePlan(message: (text: string) => string): Promise<Difference[]> {
    return differencesOf('plan 01', [{ path: plan, bytes: await read('plan 01', plan), message }]);
  }

  test.each<[string, (text: string) => string]>([
    ['is a reply', (text) => text.replace('Teddy-Entry: plan', 'Teddy-Entry: reply')],
    ['belongs to another turn', (text) => text.replace('Teddy-Turn: 01', 'Teddy-Turn: 02')],
    ['has lost its trailers', () => 'Mine\n'],
  ])('differ if they are a report whose plan %s', async (_, message) => {
    const missing = { turn: '01', path: `${dir}/report.md`, message: 'No earlier entry contains the plan of turn 01.' };
    expect(await forgePlan(message)).toContainEqual(expect.objectContaining(missing));
  });

  test.each(['message 01', 'plan 01'])('differ if they are a %s that changes code', async (entry) => {
    const found = await differencesOf(entry, [{ path: 'evil.sh' as RepoPath, bytes: Buffer.from('evil\n') }]);
    const [kind] = entry.split(' ');
    expect(found).toContainEqual(
      expect.objectContaining({
        path: 'evil.sh',
        message: `An entry of kind ${kind} changes code, which it must not.`,
      }),
    );
  });

  test('with a second start hide no turn before it', async () => {
    const { message: second } = await project.repository.store.readCommit(at('start'));
    const forged = await tamper(project, tip, at('plan 03'), [{ path: plan, bytes: null, message: () => second }]);
    const { turns } = await replayLine(project, await findRecorded(project, forged));
    expect(turns.map(({ turn }) => turn)).toEqual(['01', '02', '03']);
  });
});

describe('a forged run whose parts agree', () => {
  /** The report matches the commit, and its entry has the report's hash. */
  async function forge(replacements: [string, string][], changes: Tampering[]): Promise<Difference[]> {
    const path = `${dir}/report.md` as RepoPath;
    const text = new TextDecoder().decode(await read('report 01', path));
    const forged = replacements.reduce((now, [from, to]) => {
      expect(now).toContain(from);
      return now.replaceAll(from, to);
    }, text);
    const message = (old: string) => old.replace(/^Teddy-Sha256: .*$/m, `Teddy-Sha256: ${project.hash(forged)}`);
    return differencesOf('report 01', [{ path, bytes: Buffer.from(forged), message }, ...changes]);
  }

  async function oidOf(text: string): Promise<string> {
    return project.repository.store.batch().blob(text);
  }

  test('is shown as a diff, recorded against replayed, if a file’s content differs from the plan', async () => {
    const [before, after] = ['one\ntwo\n', 'one\nevil\ntwo\n'];
    const found = await forge(
      [[await oidOf(before), await oidOf(after)]],
      [{ path: 'a.txt' as RepoPath, bytes: Buffer.from(after) }],
    );
    expect(found).toContainEqual(
      expect.objectContaining({
        turn: '01',
        action: 3,
        path: 'a.txt',
        diff: expect.stringContaining('\n one\n-evil\n two\n'),
      }),
    );
  });

  test('hides no content outside the plan behind an empty commit before the report', async () => {
    const evil = Buffer.from('evil\n');
    const files = [
      ['one\ntwo\n', 'a.txt', 3],
      ['const port = 81;\nserve(port);\n', 'src/app.ts', 1],
    ] as const;
    for (const [content, path, action] of files) {
      const found = await forge(
        [[await oidOf(content), await oidOf('evil\n')]],
        [{ path: path as RepoPath, bytes: evil, before: 'Mine\n' }],
      );
      expect(found).toContainEqual(expect.objectContaining({ turn: '01', action, path }));
    }
  });

  test('is detected by a file that no action in the plan makes, or that its action does not', async () => {
    const row = (path: string, oid: string, action: number) =>
      `changes:\n  - path: ${path}\n    change: added\n    before: null\n    after: ${oid}\n    action: ${action}`;
    const bytes = Buffer.from('x\n');
    const oid = await oidOf('x\n');
    const stray = { path: 'stray.txt' as RepoPath, bytes };
    expect(await differencesOf('report 01', [stray])).toMatchObject([{ path: 'stray.txt', turn: '01' }]);
    const found = await forge([['changes:', row('stray.txt', oid, 3)]], [stray]);
    expect(found).toMatchObject([{ action: 3, path: 'stray.txt', message: expect.stringContaining('writes a.txt') }]);
  });

  test('is detected by a missing file, or an executable one', async () => {
    const oid = await oidOf('one\ntwo\n');
    const rows = `  - path: a.txt\n    change: added\n    before: null\n    after: ${oid}\n    action: 3\n`;
    expect(await forge([[rows, '']], [{ path: 'a.txt' as RepoPath, bytes: null }])).toContainEqual(
      expect.objectContaining({ action: 3, path: 'a.txt' }),
    );
    const bytes = await read('report 01', 'made.txt');
    const byCommand = { path: 'made.txt' as RepoPath, bytes, mode: '100755' as const };
    expect(await differencesOf('report 01', [byCommand])).toMatchObject([{ action: 2, path: 'made.txt' }]);
    const executable = { path: 'a.txt' as RepoPath, bytes: Buffer.from('one\ntwo\n'), mode: '100755' as const };
    expect(await differencesOf('report 01', [executable])).toMatchObject([{ action: 3, path: 'a.txt' }]);
  });

  test('is detected by a report on another plan', async () => {
    const sha256 = project.hash(await read('plan 01', `${dir}/plan.md`));
    const found = await forge([[sha256, project.hash('another')]], []);
    expect(found).toMatchObject([{ turn: '01', path: `${dir}/plan.md`, action: null }]);
  });

  test.each<[string, [string, string][], object]>([
    ['the run’s status', [['  status: SUCCESS\n  start', '  status: ABORTED\n  start']], { action: null }],
    ['a command', [['command: make', 'command: evil']], { action: 2 }],
    ['an exit code', [['return_code: 0', 'return_code: 1']], { action: 2 }],
    ['the line of a match', [['line: 1', 'line: 2']], { action: 1, path: 'src/app.ts' }],
    ['the line of another match', [['line: 2', 'line: 1']], { action: 1, path: 'src/app.ts' }],
    ['an action’s type', [['action_type: CREATE', 'action_type: EDIT']], { action: 3 }],
    [
      'an action’s status',
      [
        [
          'index: 3\n    action_type: CREATE\n    status: SUCCESS',
          'index: 3\n    action_type: CREATE\n    status: SKIPPED',
        ],
      ],
      { action: 3 },
    ],
    ['an action’s number', [['index: 3', 'index: 4']], { action: 4 }],
  ])('is detected by %s in a report with the right hash', async (_, replacements, expected) => {
    const found = await forge(replacements, []);
    expect(found).toContainEqual(expect.objectContaining({ turn: '01', ...expected }));
  });
});
