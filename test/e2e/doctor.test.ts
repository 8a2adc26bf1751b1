/** `teddy doctor` as a person and a program meet it: exit codes, and a real `kill -9`. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endGroup, killRun, waitHere } from '../support/interrupted-run.ts';
import { createAction, executeAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
beforeAll(async () => {
  project = await openTeddyProject();
  await project.begin('try-it');
});
afterAll(() => project.close());

interface Finding {
  schema: string;
  findings: { kind: string; thing: string; outcome: string; todo: string | null }[];
}

async function examine(...args: string[]): Promise<Finding & { exitCode: number }> {
  const { exitCode, stdout } = await project.run(['doctor', '--json', ...args]);
  return { exitCode, ...(JSON.parse(stdout) as Finding) };
}

test('a run that was killed is named with what to do, and is left; once settled, nothing is to mend', async () => {
  await project.plan(planOf(createAction('a.txt', 'A\n'), executeAction(`echo x > b.txt; ${waitHere}`)));
  const group = await killRun(project);
  const before = await project.repo.fingerprint();
  const found = await examine();
  const scratch = { kind: 'leftover', thing: expect.stringMatching(/^\/.*\/teddy-run-\w{6}$/) };
  expect(found).toMatchObject({
    schema: 'teddy.doctor/1',
    exitCode: 1,
    findings: [scratch, { kind: 'interrupted-run' }],
  });
  expect((await examine('--fix')).findings).toMatchObject([{ ...scratch, outcome: 'fixed' }, { outcome: 'left' }]);
  expect((await examine()).findings).toMatchObject([{ kind: 'interrupted-run' }]);
  expect(await project.repo.fingerprint()).toEqual(before);
  await endGroup(group);
  await project.ok('session', 'execute', '--interrupted=rollback');
  expect(await examine()).toMatchObject({ exitCode: 0, findings: [] });
});

test('the directory of a replay that was killed is found once its process is dead, and removed', async () => {
  const place = await mkdtemp(join(tmpdir(), 'teddy-outside-'));
  const waits = join(place, 'waits');
  await project.begin('replayed');
  await project.plan(planOf(executeAction(`case $PWD in *teddy-replay-*) echo $$ > ${waits}; sleep 60;; esac`)));
  await project.ok('session', 'execute', '-y');
  const replay = project.start(['session', 'replay', '--run-commands']);
  const pid = () => readFile(waits, 'utf8').then(Number, () => 0);
  await expect.poll(pid, { timeout: 20_000, interval: 20 }).toBeGreaterThan(0);
  expect((await examine()).findings).toEqual([]);
  replay.kill('SIGKILL');
  await replay.result;
  await endGroup(await pid());
  await rm(place, { recursive: true });
  const thing = (name: string) => ({ kind: 'leftover', thing: expect.stringMatching(`/${name}\\w{6}$`) });
  const found = [thing('teddy-replay-'), thing('teddy-run-')];
  expect((await examine()).findings).toMatchObject(found);
  expect((await examine('--fix')).findings).toMatchObject(found.map((one) => ({ ...one, outcome: 'fixed' })));
  expect(await examine()).toMatchObject({ exitCode: 0, findings: [] });
});

test('--fix says what it did, and exits with 0 when all is mended', async () => {
  const branch = await project.repo.git('branch', '--show-current');
  const tip = await project.repo.git('rev-parse', 'HEAD');
  await project.repo.git('switch', '--quiet', 'main');
  await project.repo.git('branch', '-D', '--quiet', branch);
  const dry = await project.run(['doctor']);
  expect(dry).toMatchObject({ exitCode: 1 });
  expect(dry.stdout).toContain(`--fix creates the branch ${branch} there.`);
  const { exitCode, stdout } = await project.run(['doctor', '--fix']);
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`They are now on the branch ${branch}.`);
  expect(stdout).toContain('1 fixed, 0 left.');
  expect(await project.repo.git('rev-parse', branch)).toBe(tip);
});
