/** The fast part of the faults in write sessions. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkWrite } from './check-write.ts';
import { openWriteStage, type WriteStage } from './write-scenes.ts';
import { emptyTally, killAtFirst, readPoints, report, sweepWith } from './sweep.ts';
import { canTrace, traceSystemCalls, type SystemCall } from './system-calls.ts';
import { raceToBegin, raceToFinalize } from './write-race.ts';

let stage: WriteStage;
beforeAll(async () => void (stage = await openWriteStage()));
afterAll(() => stage.close());

test('a kill at any step of a write session loses no acknowledged content, which is committed once', async () => {
  const scene = stage.scenes['write-create'];
  const { points } = await readPoints(stage, scene);
  const steps = [...new Set(points.step)].filter((step) => /^write-|^(?:ref|index)/.test(step)).toSorted();
  const jobs = killAtFirst(scene, steps);
  const tally = emptyTally();
  await sweepWith(stage, jobs, tally, ({ signal }) => (signal === 'SIGKILL' ? [] : ['it was not killed']), checkWrite);
  report('SIGKILL at the steps of a write session', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual(steps);
  expect(steps).toEqual(expect.arrayContaining(['ref-moved', 'write-content', 'write-made', 'write-state']));
});

test('exactly one of two processes that begin at the same time gets its session, each time', async () => {
  const repository = await stage.copy(stage.scenes['write-create']);
  const { begun, refused, failures } = await raceToBegin(stage, repository, 10);
  expect(failures).toEqual([]);
  expect({ begun, refused }).toEqual({ begun: 10, refused: 10 });
  expect(await repository.list('.git/teddy/write_sessions')).toEqual([]);
});

test('eight processes that finalize one session at the same time make one commit, which all of them report', async () => {
  const scene = stage.scenes['write-create'];
  const repository = await stage.copy(scene);
  const { runs, commits } = await raceToFinalize(stage, scene, repository, 8);
  expect(runs.map(({ failure }) => failure).filter((failure) => failure !== null)).toEqual([]);
  expect(commits).toHaveLength(1);
  expect(new Set(runs.flatMap(({ acknowledged }) => acknowledged))).toEqual(new Set(commits));
  await repository.fsck();
});

test('content is on disk before it is acknowledged, and each phase before the action it announces', async ({
  skip,
}) => {
  skip(!(await canTrace()), 'strace is not installed');
  const scene = stage.scenes['write-create'];
  const { root } = await stage.copy(scene);
  const command = [process.execPath, stage.program, scene.operation, root];
  const calls = await traceSystemCalls(command, join(root, '.git', 'trace'), { withWrites: true });
  const saves = readSaves(calls);
  expect(saves.map(({ phase }) => phase)).toEqual([
    'receiving',
    'receiving',
    'receiving',
    'finalizing',
    'installing',
    'installed',
    'committed',
    'committed',
  ]);
  for (const { begin, durable, dir } of saves.slice(0, 3)) {
    const content = calls.findLast(({ name, text, end }) => name === 'pwrite64' && text.includes(dir) && end < begin);
    const isSynced = calls.some(
      (call) =>
        call.name === 'fdatasync' &&
        call.text.includes('/content.txt') &&
        call.begin > (content?.end ?? Infinity) &&
        call.end < begin,
    );
    expect(isSynced, 'content is synced before its state').toBe(true);
    const told = calls.find(
      (call) => call.name === 'write' && /"saved/.test(call.text.replaceAll('\\', '')) && call.begin > begin,
    );
    expect(told?.begin, 'it is told after the directory is synced').toBeGreaterThan(durable);
  }
  const phase = (name: string) => saves.find((save) => save.phase === name) ?? { begin: Infinity, durable: Infinity };
  const target = join(root, 'new/dir/made.json');
  const link = calls.find(({ name, paths }) => /^(?:link|rename)/.test(name) && paths.at(-1) === target);
  const ref = calls.find(
    ({ name, paths }) => name.startsWith('rename') && paths.at(-1) === join(root, '.git', scene.ref ?? ''),
  );
  if (!link || !ref) throw new Error('The trace lacks the target, or the ref.');
  const isSynced = (path: string, after: number, before: number) =>
    calls.some((call) => call.name === 'fsync' && call.paths[0] === path && call.begin > after && call.end < before);
  expect(phase('installing').durable, '`installing` is durable before the target is there').toBeLessThan(link.begin);
  expect(isSynced(link.paths[0] ?? '', -1, link.begin), 'the target is synced before it gets its name').toBe(true);
  for (const dir of ['new/dir', 'new', '.'])
    expect(isSynced(join(root, dir), -1, phase('installed').begin), `${dir} is synced before \`installed\``).toBe(true);
  expect(isSynced(join(root, 'new/dir'), link.end, phase('installed').begin), 'so is the name').toBe(true);
  expect(phase('installed').durable, '`installed` is durable before the ref moves').toBeLessThan(ref.begin);
  expect(phase('committed').begin, '`committed` comes after the ref').toBeGreaterThan(ref.end);
  console.log(`faults: fsync order of a write session: ${saves.length} saves, as strace saw it`);
});

interface Save {
  phase: string;
  dir: string;
  /** The place in the trace where the new state gets its name. */
  begin: number;
  /** ... and where its directory has been synced. */
  durable: number;
}

function readSaves(calls: SystemCall[]): Save[] {
  return calls.flatMap((call) => {
    const dir = /^(.*\/write_sessions\/[^/]+)\/state\.json$/.exec(call.paths.at(-1) ?? '')?.[1];
    if (dir === undefined || !call.name.startsWith('rename')) return [];
    const temporary = call.paths[0] ?? '';
    const before = (one: SystemCall) => one.end < call.begin && one.paths[0] === temporary;
    const written = calls.findLast((one) => one.name === 'write' && before(one));
    const phase = /phase\\":\\"(\w+)/.exec(written?.text ?? '')?.[1] ?? 'none';
    const synced = calls.findLast((one) => one.name === 'fsync' && before(one));
    const directory = calls.find((one) => one.name === 'fsync' && one.paths[0] === dir && one.begin > call.end);
    const isSynced = synced !== undefined && written !== undefined && synced.begin > written.end;
    return [
      { phase: isSynced ? phase : `${phase}, not synced`, dir, begin: call.begin, durable: directory?.end ?? Infinity },
    ];
  });
}
