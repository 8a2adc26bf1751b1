/** `teddy ci verify` on clones as in CI. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withoutTree } from '../support/forgery.ts';
import { teddyPath } from '../support/run-teddy.ts';
import { openScratchRepository } from '../support/scratch-repository.ts';
import { parseReport, renderReport } from '../../src/plan/report/report-yaml.ts';
import { parseOid } from '../../src/names.ts';
import {
  createPlan,
  editAction,
  executeAction,
  openTeddyProject,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

let temporary: string;
let bare: string;
let project: TeddyProject;
let line: string;

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'teddy-ci-'));
  bare = join(temporary, 'bäre clone.git');
  project = await openTeddyProject();
  const { repo } = project;
  line = `teddy/${await project.begin('add-a')}`;
  await project.plan(createPlan('a.txt', 'A\n'));
  await project.ok('session', 'execute', '-y');
  await repo.commit({ 'own.txt': 'mine\n' }, 'My own');
  await repo.git('branch', 'plain', 'main');
  await repo.git('clone', '--quiet', '--bare', repo.root, bare);
});
afterAll(async () => {
  await project.close();
  await rm(temporary, { recursive: true });
});

function run(cwd: string, args: string[]) {
  return new Promise<{ exitCode: number; output: string }>((resolve) => {
    const options = { cwd, env: { ...process.env, GITHUB_ACTIONS: '' } };
    execFile(teddyPath, ['ci', 'verify', ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code);
      resolve({ exitCode: code, output: stdout + stderr });
    });
  });
}

const inChange = (base: string, head = 'HEAD') => ['--base', base, '--head', head];

test('a valid session passes in a bare clone: all branches, and those in a change', async () => {
  const results = join(temporary, 'results');
  await symlink(temporary, join(temporary, 'link'));
  expect(await run(bare, [line, '--junit', join(temporary, 'link/')])).toMatchObject({ exitCode: 2 });
  const all = await run(bare, ['--junit', results]);
  expect(all).toMatchObject({
    exitCode: 0,
    output: expect.stringContaining(`$ teddy verify ${line}`) as string,
  });
  expect(all.output).toContain('All sessions hold up.');
  expect(all.output).not.toContain('teddy/global');
  const name = `${line.replace('/', '-')}.xml`;
  expect(await readFile(join(results, name), 'utf8')).toContain('<testsuite');

  const tip = await project.repo.git('rev-parse', line);
  const pages = join(temporary, 'pages');
  const change = await run(bare, [...inChange('main', line), '--pages', pages]);
  expect(await readFile(join(pages, `${line.slice('teddy/'.length)}.html`), 'utf8')).toContain('A\n');
  expect(await run(bare, [line, '--pages', join(temporary, 'link')])).toMatchObject({ exitCode: 2 });
  expect(change).toMatchObject({ exitCode: 0, output: expect.stringContaining(`teddy replay ${tip}`) as string });
  expect(change.output.match(/teddy verify/g)).toHaveLength(1);
  const session = line.slice('teddy/'.length);
  expect(change.output).toContain(
    `Land it instead: \`teddy land ${session} --pr\`.\nnote: after such a merge, \`teddy ci carry\``,
  );
  expect(change.output).toContain(`\n${session} (${tip.slice(0, 10)}): nothing differs`);
  expect(all.output).toContain(`\n${line}: nothing differs`);
});

test('entries that no named key has signed fail', async () => {
  const key = `SHA256:${'A'.repeat(43)}`;
  for (const args of [[line], inChange('main', line)]) {
    const found = await run(bare, [...args, '--signed-by', key]);
    expect(found).toMatchObject({ exitCode: 1, output: expect.stringContaining('It is not signed.') as string });
  }
});

test('plans without somebody else’s approval fail if it is required', async () => {
  for (const args of [[line], inChange('main', line)]) {
    const found = await run(bare, [...args, '--require-approval=others']);
    const fault = 'The plan was run without an approval by somebody who did not write its message.';
    expect(found).toMatchObject({ exitCode: 1, output: expect.stringContaining(fault) as string });
  }
  const odd = await run(bare, [line, '--require-approval=--fsck']);
  expect(odd.exitCode).not.toBe(0);
});

test('a session that was tampered with is found by its branch and in the change that brings it', async () => {
  const { repo } = project;
  await repo.git('branch', 'teddy-before', line);
  const plan = `.teddy/sessions/${line.slice('teddy/'.length)}/01/plan.md`;
  await repo.commit({ [plan]: `${await repo.read(plan)}\n` }, 'Quietly');
  await repo.git('push', '--quiet', bare, line);
  await repo.git('reset', '--quiet', '--hard', 'teddy-before');
  await repo.git('branch', '-D', 'teddy-before');
  for (const args of [[line], inChange('main', line)]) {
    const found = await run(bare, args);
    expect(found.exitCode, found.output).toBe(1);
    expect(found.output).toContain('A session does not hold up.');
  }
});

test('code that only a command explains fails, or passes with a one-line note if the user chose that', async () => {
  const forged = await forgeEdit();
  await project.repo.git('push', '--quiet', bare, `${forged}:refs/heads/forged-edit`);
  const change = inChange('main', forged);
  const name = `${line.slice('teddy/'.length)} (${forged.slice(0, 10)})`;
  const open =
    'nothing differs; 1 path proven, 1 not proven (turn 02, a.txt: action 2, a command, changed it after action 1); 1 path changed in 1 commit that no plan describes';
  const strict = await run(bare, change);
  expect(strict.exitCode, strict.output).toBe(1);
  expect(strict.output).toContain(`${name}: ${open}\n`);
  expect(strict.output).toContain('Nothing differs, but not everything is proven.');
  const lenient = await run(bare, [...change, '--no-strict']);
  expect(lenient.exitCode, lenient.output).toBe(0);
  expect(lenient.output).toContain(`${name}: ${open}\n`);
  expect(lenient.output).toMatch(/let the unproven parts pass\. 1 commit without a session: not checked\.\n$/);
  expect(lenient.output).not.toContain('All sessions hold up');
  const again = await run(bare, [...change, '--run-commands']);
  expect(again.exitCode, again.output).toBe(1);
  expect(again.output).toContain('A session does not hold up.');
});

/**
 * The line with one more turn, whose commit differs from its edit: report and commit agree in every hash, and no tree
 * contradicts.
 */
async function forgeEdit(): Promise<string> {
  const { repo } = project;
  const before = await repo.git('rev-parse', line);
  await project.plan(planOf(editAction('a.txt', 'A', 'B'), executeAction('true')));
  await project.ok('session', 'execute', '-y');
  const path = `.teddy/sessions/${line.slice('teddy/'.length)}/02/report.md`;
  const message = await repo.git('log', '-1', '--format=%B');
  await repo.write('a.txt', 'evil\n');
  const [honest, evil] = [await repo.git('rev-parse', 'HEAD:a.txt'), await repo.git('hash-object', 'a.txt')];
  const report = parseReport(await repo.read(path));
  const changes = report.changes.map((row) => ({ ...row, after: parseOid(evil), action: 2 }));
  expect(report.changes).toMatchObject([{ path: 'a.txt', after: honest, action: 1 }]);
  const text = renderReport({ ...report, action_logs: report.action_logs.map(withoutTree), changes });
  await repo.write(path, text);
  const sha256 = createHash('sha256').update(text).digest('hex');
  await repo.git('commit', '-qam', message.replace(/Teddy-Sha256: \w+/, `Teddy-Sha256: ${sha256}`), '--amend');
  const forged = await repo.git('rev-parse', 'HEAD');
  await repo.git('reset', '--quiet', '--hard', before);
  return forged;
}

test('a change without a session passes with a notice; an undecidable one does not pass', async () => {
  const none = { exitCode: 0, output: 'There is no teddy session in this change.\n' };
  expect(await run(bare, inChange('main', 'plain'))).toEqual(none);
  expect(await run(bare, ['teddy/20260124-no-such'])).toMatchObject({ exitCode: 2 });
  expect(await run(bare, inChange('no-such'))).toMatchObject({ exitCode: 2 });
  expect(await run(bare, ['--', '-x'])).toMatchObject({ exitCode: 2 });
  const shallow = join(temporary, 'shallow');
  await project.repo.git('clone', '--quiet', '--depth=1', '--branch', line, `file://${bare}`, shallow);
  const cut = await run(shallow, []);
  expect(cut).toMatchObject({ exitCode: 2, output: expect.stringContaining('git fetch --unshallow') as string });
  await openScratchRepository(shallow).git('fetch', '--quiet', '--unshallow');
  // In a clone with one branch, others are not looked for.
  expect(await run(shallow, [])).toMatchObject({ exitCode: 1 });
});
