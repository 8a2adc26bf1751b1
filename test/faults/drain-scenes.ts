/** A repository with agents' hook calls in its spool, the logs that they name, and the expected result of a drain. */
import { cp, mkdir, mkdtemp, readdir, realpath, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import { runTeddy } from '../support/run-teddy.ts';
import { makeScratchRepository, openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { buildChild } from './build-child.ts';
import { findLeftovers } from './check-run.ts';
import { runChild, type ChildRun } from './run-child.ts';
import { copiesIn, dirty, type Copies, type Scene } from './scenes.ts';

export interface DrainStage extends Copies {
  scene: Scene;
  /** The lines after a drain without faults, as returned by `readLines`. */
  expected: DrainedLine[];
}

export interface DrainedLine {
  ref: string;
  /** Its records, with those of the lines that it forks from first. */
  records: string;
  /** The kinds of its entries, and the code at its tip. */
  steps: string;
}

const time = (second: number) => new Date(1_795_000_000_000 + 1000 * second).toISOString();

interface SceneEvents {
  files: Record<string, string>;
  calls: object[];
}

/**
 * An agent's logs, and its calls: a turn with a tool and a sub-agent, a further turn, and one in its place; a message
 * in another session; and in a third session a turn, which was captured `before`, and a further one, which has to
 * branch off behind the waiting message.
 */
function tell(root: string): { before: SceneEvents; now: SceneEvents } {
  const logs = join(`${root}.home`, '.claude/projects', root.replaceAll(/[^A-Za-z0-9]/g, '-'));
  const pathOf = (session: string) => join(logs, `${session}.jsonl`);
  let second = 0;
  const record = (sessionId: string, parentUuid: string | null, uuid: string, role: string, content: unknown) => {
    const base = { uuid, parentUuid, sessionId, cwd: root, version: '2.1.330', timestamp: time((second += 1)) };
    const message = { role, content, ...(role === 'assistant' ? { id: `m-${uuid}`, model: 'claude-opus' } : {}) };
    return `${JSON.stringify({ type: role, ...base, message })}\n`;
  };
  const text = (words: string) => [{ type: 'text', text: words }];
  const call = { type: 'tool_use', id: 't1', name: 'Task', input: { description: 'Look' } };
  const result = { type: 'tool_result', tool_use_id: 't1', content: 'out-1' };
  const one = [
    record('s1', null, 'u1', 'user', 'ask-1'),
    record('s1', 'u1', 'c1', 'assistant', [call]),
    record('s1', 'c1', 'r1', 'user', [result]),
    record('s1', 'r1', 'a1', 'assistant', text('say-1')),
    `${JSON.stringify({ type: 'a-new-kind', uuid: 'x1', timestamp: time(9) })}\n`,
    record('s1', 'a1', 'u2', 'user', 'ask-2'),
    record('s1', 'u2', 'a2', 'assistant', text('say-2')),
    record('s1', 'a1', 'u3', 'user', 'ask-3'),
    record('s1', 'u3', 'a3', 'assistant', text('say-3')),
  ];
  const helper = [record('s1', null, 'h1', 'user', 'ask-4'), record('s1', 'h1', 'h2', 'assistant', text('say-4'))];
  const hookCall = (session: string, event: string, more: object = {}) => {
    const payload = { session_id: session, transcript_path: pathOf(session), cwd: root, hook_event_name: event };
    return { v: 1, agent: 'claude-code', at: 1_795_000_010, ppid: 0, payload: { ...payload, ...more } };
  };
  const third = [record('s3', null, 'u5', 'user', 'ask-6'), record('s3', 'u5', 'a5', 'assistant', text('say-6'))];
  const next = [record('s3', 'a5', 'u6', 'user', 'ask-7'), record('s3', 'u6', 'a6', 'assistant', text('say-7'))];
  const before = {
    files: { [pathOf('s3')]: third.join('') },
    calls: [hookCall('s3', 'Stop', { last_assistant_message: 'say-6' })],
  };
  const now = {
    files: {
      [pathOf('s1')]: one.join(''),
      [join(logs, 's1/subagents/agent-x.jsonl')]: helper.join(''),
      [join(logs, 's1/subagents/agent-x.meta.json')]: JSON.stringify({ agentType: 'general', toolUseId: 't1' }),
      [pathOf('s2')]: record('s2', null, 'u4', 'user', 'ask-5'),
      [pathOf('s3')]: [...third, ...next].join(''),
    },
    calls: [
      hookCall('s1', 'UserPromptSubmit', { prompt: 'ask-3' }),
      hookCall('s1', 'Stop', { last_assistant_message: 'say-3' }),
      hookCall('s2', 'UserPromptSubmit', { prompt: 'ask-5' }),
      hookCall('s3', 'Stop', { last_assistant_message: 'say-7' }),
    ],
  };
  return { before, now };
}

async function write(root: string, { files, calls }: SceneEvents): Promise<void> {
  const spool = join(root, '.git/teddy/spool');
  const hourAgo = new Date(Date.now() - 3_600_000);
  const lines = calls.map((one) => `${JSON.stringify(one)}\n`).join('');
  for (const [path, content] of Object.entries({ ...files, [join(spool, 'claude-code.jsonl')]: lines })) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    // A sweep waits until a log is quiet.
    await utimes(path, hourAgo, hourAgo);
  }
}

/** A turn is captured, and the user sends a message on its line that nobody answers. */
async function prepare({ root }: ScratchRepository, program: string): Promise<void> {
  await write(root, tell(root).before);
  const drained = await runChild({ program, operation: 'drain', root });
  const said = await runTeddy(['session', 'say', '-s', 'claude-code-ask-6', '-m', 'ask-8', '--id', 'u7'], {
    cwd: root,
  });
  if (drained.failure !== null || said.exitCode !== 0)
    throw new Error(`The line cannot be made: ${drained.failure?.text} ${said.stderr}`);
  await rm(`${root}.home`, { recursive: true });
}

export async function openDrainStage(): Promise<DrainStage> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'teddy-drain-faults-')));
  const repository = await makeScratchRepository({ 'src/kept.txt': 'kept\n', 'src/edited.txt': 'before\n' });
  await dirty(repository);
  await repository.git('config', 'teddy.capture', 'true');
  const program = await buildChild(dir);
  await prepare(repository, program);
  const template = join(dir, 'drain');
  await cp(repository.root, template, { recursive: true, preserveTimestamps: true });
  await repository.close();
  const scene: Scene = {
    name: 'drain',
    operation: 'drain',
    template,
    ref: null,
    oldTip: '',
    entries: [],
    status: [],
  };
  const copies = copiesIn(dir, program);
  const stage: DrainStage = {
    ...copies,
    scene,
    expected: [],
    async copy(one, into) {
      const copy = await copies.copy(one, into);
      await write(copy.root, tell(copy.root).now);
      return copy;
    },
    async discard(copy) {
      await copies.discard(copy);
      await rm(`${copy.root}.home`, { recursive: true, force: true });
    },
  };
  const whole = await stage.copy(scene);
  const { failure, warnings } = await runChild({ program: stage.program, operation: 'drain', root: whole.root });
  if (failure !== null || warnings.length > 0)
    throw new Error(`It fails by itself: ${failure?.text} ${warnings.join()}`);
  stage.expected = await readLines(whole);
  await stage.discard(whole);
  return stage;
}

/** Each line as its entries, the code at its tip, and its records. */
export async function readLines(repository: ScratchRepository): Promise<DrainedLine[]> {
  const refs = (await repository.git('for-each-ref', '--format=%(refname)', 'refs/heads/teddy/')).split('\n');
  return Promise.all(refs.filter((ref) => ref !== '').map((ref) => readLine(repository, ref)));
}

async function readLine(repository: ScratchRepository, ref: string): Promise<DrainedLine> {
  const kinds = await repository.git(
    'log',
    '--reverse',
    '--format=%(trailers:key=Teddy-Entry,valueonly,separator=)',
    ref,
  );
  const rows = (await repository.git('ls-tree', '-r', '--full-tree', ref)).split('\n');
  const code = rows.filter((row) => !row.includes('\t.teddy/')).map((row) => row.replace(/ blob [0-9a-f]*/, ''));
  const paths = rows.map((row) => row.slice(row.indexOf('\t') + 1)).filter((path) => path.endsWith('.jsonl'));
  const texts = await Promise.all(paths.map((path) => repository.git('show', `${ref}:${path}`)));
  const records = texts.flatMap((text, at) =>
    paths[at]?.endsWith('transcript.jsonl') === true
      ? decodeTranscript(text).records.map((record) => ('id' in record ? record.id : record.type))
      : text === ''
        ? ['no unknown line']
        : [`${text.split('\n').length} unknown`],
  );
  const steps = `${kinds.split('\n').filter(Boolean).join()}: ${code.join()}`;
  return { ref, records: records.join(), steps };
}

/**
 * Returns the faults after a disturbed drain and the one that follows it. If it could continue after a failure, it has
 * processed the calls: then a sweep follows, which takes the records, but makes no snapshots.
 */
export async function checkDrain(
  stage: DrainStage,
  repository: ScratchRepository,
  { acknowledged, warnings }: Pick<ChildRun, 'acknowledged' | 'warnings'>,
  followedBy: 'drain' | 'sweep' = 'drain',
): Promise<string[]> {
  const problems: string[] = [];
  const { refs: _, ...original } = await openScratchRepository(stage.scene.template).fingerprint();
  const toText = ({ ref, records, steps }: DrainedLine) =>
    [ref, records, ...(followedBy === 'drain' ? [steps] : [])].join(': ');
  const expected = stage.expected.map(toText);
  const check = async (when: string, isWhole: boolean) => {
    const found: Partial<Record<string, unknown>> = { ...(await repository.fingerprint()) };
    for (const [what, value] of Object.entries(original))
      if (JSON.stringify(value) !== JSON.stringify(found[what]))
        problems.push(`${when}: the ${what} of the user is another one`);
    const lines = (await readLines(repository)).map(toText);
    if (isWhole && lines.join('\n') !== expected.join('\n'))
      problems.push(`${when}:\n${lines.join('\n')}\n  instead of\n${expected.join('\n')}`);
  };
  await check('after it', acknowledged.length > 0 && warnings.length === 0);
  for (const operation of followedBy === 'drain' ? ['drain'] : ['drain', 'sweep']) {
    const next = await runChild({ program: stage.program, operation, root: repository.root, name: 'next' });
    if (next.failure !== null) problems.push(`the next ${operation} fails: ${next.failure.text}`);
    problems.push(...next.warnings.map((text) => `the next ${operation} has a problem: ${text}`));
  }
  await check('after the next one', true);
  problems.push(...(await findLeftovers(repository)));
  const spool = join(repository.root, '.git/teddy/spool');
  const waiting = [...(await readdir(spool)), ...(await readdir(join(spool, 'taken')).catch(() => []))];
  const left = waiting.filter((name) => /\.jsonl?$|\.tmp|^drainer/.test(name));
  if (left.length > 0) problems.push(`the spool has ${left.join()} left`);
  await repository.fsck().catch((error: Error) => problems.push(error.message));
  return problems;
}
