/**
 * The fast part of the faults and races on a line, and in an arriving answer; the complete sweeps are in
 * `*.full.test.ts`.
 */
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runTeddy } from '../support/run-teddy.ts';
import { checkAnswer, readConfirmed } from './check-answer.ts';
import { readAdded, checkRun } from './check-run.ts';
import { failedCleanly } from './failure.ts';
import { countOf, killAt, type Points } from './fault.ts';
import { answerSteps, appendSteps } from './known-steps.ts';
import { memoText } from './plans.ts';
import { raceAppends, reportRace } from './race.ts';
import { runChild } from './run-child.ts';
import { openStage, type Scene, type Stage } from './scenes.ts';
import { emptyTally, everyNth, killAtFirst, readPoints, report, sweep, type Job } from './sweep.ts';
import { canTrace, traceSystemCalls } from './system-calls.ts';

let stage: Stage;
beforeAll(async () => void (stage = await openStage()));
afterAll(() => stage.close());

/** At each step of these names, however often it comes. */
function killAtEach(scene: Scene, { step: steps }: Points, names: readonly string[]): Job[] {
  return names.flatMap((name) =>
    everyNth(countOf(steps, name)).map((nth): Job => ({ scene, fault: killAt(name, nth) })),
  );
}

test('a kill at each step of an append on the line leaves the old tip or the new one, and the next command works', async () => {
  const scene = stage.scenes['append-on-line'];
  const { points } = await readPoints(stage, scene);
  const steps = [...new Set(points.step)].toSorted();
  const jobs = killAtFirst(scene, steps);
  const tally = emptyTally();
  await sweep(stage, jobs, tally, ({ signal }) => (signal === 'SIGKILL' ? [] : ['it was not killed']));
  report('SIGKILL at the steps of an append on the line', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual(steps);
  expect(steps).toEqual(appendSteps.toSorted());
});

test('a kill of plan --instead leaves the refused plan, or its report with the new turn, and the next command works', async () => {
  const scene = stage.scenes.instead;
  const { points } = await readPoints(stage, scene);
  const jobs = killAtEach(scene, points, ['ref', 'ref-moved']);
  const tally = emptyTally();
  await sweep(stage, jobs, tally, ({ signal }) => (signal === 'SIGKILL' ? [] : ['it was not killed']));
  report('SIGKILL around each move of the line by plan --instead', tally);
  expect(tally.problems).toEqual([]);
  expect(jobs.length).toBeGreaterThanOrEqual(3);
});

test('a kill of reject leaves the plan, the verdict on it, or its report as well, and the next command works', async () => {
  const scene = stage.scenes.reject;
  const { points } = await readPoints(stage, scene);
  const jobs = killAtEach(scene, points, ['ref', 'ref-moved', 'index']);
  const tally = emptyTally();
  await sweep(stage, jobs, tally, ({ signal }) => (signal === 'SIGKILL' ? [] : ['it was not killed']));
  report('SIGKILL around each move of the line by reject', tally);
  expect(tally.problems).toEqual([]);
  expect(jobs.length).toBeGreaterThanOrEqual(4);
});

test('a kill of context add leaves the old list or the new one, and the user’s edits unchanged', async () => {
  const scene = stage.scenes.context;
  const { points } = await readPoints(stage, scene);
  // It is a single append.
  expect([...new Set(points.step)].toSorted()).toEqual(appendSteps.toSorted());
  const tally = emptyTally();
  const jobs = killAtFirst(scene, ['object', 'ref', 'ref-moved']);
  await sweep(stage, jobs, tally, ({ signal }) => (signal === 'SIGKILL' ? [] : ['it was not killed']));
  report('SIGKILL in context add', tally);
  expect(tally.problems).toEqual([]);
});

test('failing file system calls give an error with a code, and the next command works', async () => {
  const tally = emptyTally();
  const scene = stage.scenes['append-on-line'];
  const { points } = await readPoints(stage, scene);
  const codes = ['EIO', 'EACCES', 'ENOSPC', 'EMFILE'] as const;
  const jobs = everyNth(points.call.length, 12).map((at): Job => {
    const name = points.call[at - 1] ?? '';
    const code = codes[at % codes.length] ?? 'EIO';
    return { scene, fault: { kind: 'fail-call', name, nth: countOf(points.call.slice(0, at), name), code } };
  });
  await sweep(stage, jobs, tally, failedCleanly);
  report('some file-system calls of an append failing', tally);
  expect(tally.problems).toEqual([]);
});

test('a memo that was only on teddy/global is on the line after the next command, once and under the same id', async () => {
  const scene = stage.scenes.memo;
  const repository = await stage.copy(scene);
  const { root } = repository;
  const run = await runChild({
    program: stage.program,
    operation: scene.operation,
    root,
    fault: killAt('ref-moved'),
  });
  expect(run).toMatchObject({ signal: 'SIGKILL', hit: 'ref-moved' });
  expect(await repository.git('show', 'teddy/global:memos.yaml')).toContain(memoText);
  expect(await repository.git('show', `${scene.ref}:.teddy/memos.yaml`)).not.toContain(memoText);

  // Without --memos nobody decides anything: earlier decisions are only completed.
  const next = await runTeddy(['session', 'execute', '-y'], { cwd: root });
  expect(next.exitCode, next.stderr).toBe(0);
  expect(await readAdded(repository, scene)).toEqual(['memo', 'report']);
  const idOf = (revision: string) =>
    repository.git('log', '-1', '--format=%(trailers:key=Teddy-Entry-Id,valueonly,separator=)', revision);
  expect(await idOf(`${scene.ref}~1`)).toBe(await idOf('teddy/global'));
  const memos = await repository.git('show', `${scene.ref}:.teddy/memos.yaml`);
  expect(memos.split(memoText)).toHaveLength(2);
  expect(memos).toBe(await repository.git('show', 'teddy/global:memos.yaml'));
  await repository.fsck();
});

test('objects and their directories are on disk before the ref moves, and the index follows the ref', async ({
  skip,
}) => {
  skip(!(await canTrace()), 'strace is not installed');
  const scene = stage.scenes['append-on-line'];
  const { root } = await stage.copy(scene);
  const command = [process.execPath, stage.program, scene.operation, root];
  const calls = await traceSystemCalls(command, join(root, '.git', 'trace'));
  const isSynced = (path: string, after: number, before: number) =>
    calls.some((call) => /sync/.test(call.name) && call.paths[0] === path && call.begin > after && call.end < before);
  const moveTo = (path: string) => calls.find(({ name, paths }) => name.startsWith('rename') && paths.at(-1) === path);

  const ref = moveTo(join(root, '.git', scene.ref ?? ''));
  const index = moveTo(join(root, '.git', 'index'));
  const record = calls.find(({ paths }) => /\/teddy\/append-[^/]*\.json$/.test(paths.at(-1) ?? ''));
  const objects = calls.filter(
    ({ name, paths }) => name.startsWith('link') && /\/objects\/..\/[0-9a-f]+$/.test(paths[1] ?? ''),
  );
  expect(objects.length).toBeGreaterThanOrEqual(5);
  if (!ref || !index || !record) throw new Error(`The trace lacks a step: ${JSON.stringify(calls)}`);
  for (const { paths, begin, end } of objects) {
    const [temporary = '', object = ''] = paths;
    expect(isSynced(temporary, -1, begin), `${object} is fsynced before it gets its name`).toBe(true);
    expect(isSynced(dirname(object), end, ref.begin), `${dirname(object)} is fsynced before the ref`).toBe(true);
  }
  expect(isSynced(dirname(record.paths.at(-1) ?? ''), record.end, ref.begin), 'the record comes before the ref').toBe(
    true,
  );
  expect(isSynced(ref.paths[0] ?? '', -1, ref.begin), 'the new value of the ref is fsynced').toBe(true);
  // A file system's journal keeps name changes in order: with the index, the ref has its name as well.
  expect(isSynced(join(root, '.git'), index.end, Infinity), 'and its name, with that of the index').toBe(true);
  expect(index.begin).toBeGreaterThan(ref.end);
  console.log(`faults: fsync order: ${objects.length} objects before the ref, as strace saw it`);
});

test.for(['execute', 'snapshot'] as const)(
  'objects that git writes for %s have their names on disk before the ref moves',
  async (name, { skip }) => {
    skip(!(await canTrace()), 'strace is not installed');
    const scene = stage.scenes[name];
    const { root } = await stage.copy(scene);
    const command = [process.execPath, stage.program, scene.operation, root];
    const calls = await traceSystemCalls(command, join(root, '.git', 'trace'));
    const ref = join(root, '.git', scene.ref ?? '');
    const moves = calls.filter((call) => call.name.startsWith('rename') && call.paths.at(-1) === ref);
    const objects = calls.filter((call) => /^(?:link|rename)/.test(call.name) && isObject(call.paths.at(-1) ?? ''));
    expect(moves.length).toBeGreaterThan(0);
    expect(objects.length).toBeGreaterThanOrEqual(2);
    const late = objects.filter((object) => {
      const dir = dirname(object.paths.at(-1) ?? '');
      const move = moves.find(({ begin }) => begin > object.end);
      return !calls.some(
        (call) =>
          call.name === 'fsync' && call.paths[0] === dir && call.begin > object.end && call.end < (move?.begin ?? 0),
      );
    });
    expect(late.map(({ paths }) => paths.at(-1))).toEqual([]);
    console.log(
      `faults: fsync order of ${name}: the names of ${objects.length} objects before the ref, as strace saw it`,
    );
  },
);

/** In an object folder, under its own name. */
function isObject(path: string): boolean {
  return /\/objects\/[0-9a-f]{2}\/[0-9a-f]{38}$/.test(path);
}

test('a kill while an answer arrives, at each step of a save or at any time, keeps the saved part, once', async () => {
  const scene = stage.scenes.answer;
  const { points, durationMs } = await readPoints(stage, scene);
  expect(new Set(points.step)).toEqual(new Set([...points.step, ...answerSteps]));
  const atSteps = killAtFirst(scene, answerSteps);
  const atTimes = Array.from({ length: 8 }, (_, at): Job => {
    return { scene, kill: { afterMs: durationMs * (0.2 + 0.8 * Math.random()), everything: at % 2 === 0 } };
  });
  const tally = emptyTally();
  await sweep(stage, [...atSteps, ...atTimes], tally, () => []);
  report('SIGKILL while an answer arrives', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual(answerSteps.toSorted());
});

test('a kill of the command that recovers an answer, at each of its steps, keeps the answer once', async () => {
  const scene = stage.scenes.answer;
  const { program } = stage;
  const killed = await stage.copy(scene);
  const fault = killAt('answer-noted');
  const first = await runChild({ program, operation: 'answer', root: killed.root, fault });
  expect(first).toMatchObject({ hit: 'answer-noted' });
  const confirmed = await readConfirmed(killed);
  expect(confirmed.length).toBeGreaterThan(0);

  const template = { ...scene, template: killed.root };
  const whole = await stage.copy(template);
  const recovery = await runChild({ program, operation: 'plan', root: whole.root });
  expect(await readAdded(whole, scene)).toEqual(['snapshot', 'message', 'reply', 'plan']);
  const ofInterest = (step: string) => !appendSteps.includes(step) || step === 'ref' || step === 'ref-moved';
  const steps = [...new Set(recovery.points?.step)].filter(ofInterest).toSorted();
  expect(steps).toEqual(expect.arrayContaining(['answer-done', 'claim-replaced', 'claim-succeeds']));
  const tally = emptyTally();
  for (const step of steps) {
    const repository = await stage.copy(template);
    const { root } = repository;
    // The first of each name belongs to the recovery.
    const run = await runChild({ program, operation: 'plan', root, fault: killAt(step) });
    tally.runs += 1;
    if (run.hit !== null) tally.hits.set(run.hit, (tally.hits.get(run.hit) ?? 0) + 1);
    const known = { ...template, entries: ['snapshot', 'message', 'reply', 'plan'] };
    const problems = [
      ...(await checkRun(stage, { ...known, name: 'plan' }, repository, run)),
      ...(await checkAnswer(repository, scene, confirmed)),
    ];
    tally.problems.push(...problems.map((problem) => `at ${run.hit}: ${problem}`));
    await stage.discard(repository);
  }
  report('SIGKILL while an answer is recovered', tally);
  expect(tally.problems).toEqual([]);
  expect([...tally.hits.keys()].toSorted()).toEqual(steps);
});

const rounds = 3;

test('three processes that append to one line at the same time lose nothing', async () => {
  const scene = stage.scenes['append-off-line'];
  const repository = await stage.copy(scene);
  const result = await raceAppends(stage.program, scene, repository, { writers: 3, each: 6 });
  reportRace('3 processes x 6 appends, off the line', result);
  expect(result.failures).toEqual([]);
  expect(result).toMatchObject({ notes: 18, merges: 0 });
  expect(result.reachable.toSorted()).toEqual(result.acknowledged.toSorted());
  await repository.fsck();
});

test('exactly one of two simultaneous plans gets its turn, and the other is refused with a reason', async () => {
  for (let round = 1; round <= rounds; round += 1) {
    const scene = stage.scenes.plan;
    const repository = await stage.copy(scene);
    const plan = (message: string) =>
      runTeddy(['session', 'plan', '-m', message, '--from', stage.answer], { cwd: repository.root, isRacing: true });
    const results = await Promise.all([plan('One.'), plan('Another.')]);
    expect(results.map(({ exitCode }) => exitCode).toSorted(), JSON.stringify(results)).toEqual([0, 3]);
    const loser = results.find(({ exitCode }) => exitCode === 3);
    expect(loser?.stderr).toMatch(/^error: .*\[(PLAN_PENDING|REF_MOVED|LOCKED)\]$/m);
    expect(await readAdded(repository, scene)).toEqual(scene.entries);
    await repository.fsck();
  }
});

test('exactly one of two simultaneous executes runs the plan, and the other is refused with a reason', async () => {
  for (let round = 1; round <= rounds; round += 1) {
    const scene = stage.scenes.execute;
    const repository = await stage.copy(scene);
    const execute = () => runTeddy(['session', 'execute', '-y'], { cwd: repository.root, isRacing: true });
    const results = await Promise.all([execute(), execute()]);
    expect(results.map(({ exitCode }) => exitCode).toSorted(), JSON.stringify(results)).toEqual([0, 3]);
    const loser = results.find(({ exitCode }) => exitCode === 3);
    expect(loser?.stderr).toMatch(/^error: .*\[(NO_PENDING_PLAN|REF_MOVED|LOCKED)\]$/m);
    expect(await readAdded(repository, scene)).toEqual(scene.entries);
    expect(await repository.read('src/made.txt')).toBe('made by the plan\n');
    await repository.fsck();
  }
});
