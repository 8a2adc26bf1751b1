/** Reruns a turn in a temporary work tree, including its commands, and compares the outputs and the files. */
import { TeddyError } from '../../errors.ts';
import { renderUnifiedDiff } from '../../plan/match/diff.ts';
import type { Action } from '../../plan/plan.ts';
import type { ExecuteAction } from '../../plan/actions/execute.ts';
import { perform, toEffect, writtenPath } from '../../plan/actions/actions.ts';
import { openFileWorld } from '../../plan/actions/world.ts';
import type { ProjectFiles } from '../../ports/disk.ts';
import type { CommandResult } from '../../ports/files.ts';
import type { ScratchTree, TreeChange } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { realPathOf } from '../../session/paths/out-of-reach.ts';
import { readTimeoutMs } from '../run/execute-plan.ts';
import { maskResult } from '../line/masked-output.ts';
import { listChanged } from '../line/guard-session-files.ts';
import { isRebased } from '../verify/compare-section.ts';
import { findContentReason, findPathReason, isRepository, maxNewFileBytes } from '../line/new-files.ts';
import { cutDiff } from './content.ts';
import { runsScripts, wasRun, type Findings, type RecordedRun } from './turn.ts';
import { takeLast, shownLines } from '../../plan/effects/command-output.ts';
import type { ActionDetails } from '../../plan/effects/action-details.ts';

export interface CommandReplay {
  /** Does nothing when the turn ran no command. Throws INTERRUPTED. */
  replay(run: RecordedRun, findings: Findings): Promise<void>;
}

interface ReplayContext {
  project: Project;
  scratch: ScratchTree;
  files: ProjectFiles;
  signal: AbortSignal;
}

/** Maps a path to the last action that changed it. */
type Changed = Map<RepoPath, number>;

/** Returns a replay of commands; `scratchAt` returns the work tree at a commit, and creates it on first use. */
export function commandReplay(
  project: Project,
  scratchAt: (commit: Oid) => Promise<ScratchTree>,
  signal: AbortSignal,
): CommandReplay {
  return {
    async replay(run, findings) {
      if (!run.parsed.plan.actions.some((action) => isRunAgain(run, action))) return;
      const scratch = await scratchAt(run.base);
      const place = { project, scratch, files: project.filesOf(scratch.workspace.root), signal };
      const changed: Changed = new Map();
      const done = new Set<number>();
      for (const action of run.parsed.plan.actions) {
        if (wasRun(run.logs.get(action.index)) && (await doAgain(place, run, action, changed, findings)))
          done.add(action.index);
        if (!(await scratch.isIntact())) break;
      }
      if (run.report.rollback === undefined && (await scratch.isIntact())) {
        await compareTrees(place, run, changed, findings);
        proveAll(run, done, findings);
      }
      settle(run, done, findings);
    },
  };
}

/** Returns true if a command finished and its script is in the plan. */
function isRunAgain({ logs }: RecordedRun, action: Action): action is ExecuteAction {
  const log = logs.get(action.index);
  return (
    action.type === 'EXECUTE' &&
    wasRun(log) &&
    log?.modified_by_user !== true &&
    log?.status !== 'ABORTED' &&
    log?.details?.return_code !== undefined
  );
}

/** Returns true if the action was repeated rather than taken from the record. */
async function doAgain(
  place: ReplayContext,
  run: RecordedRun,
  action: Action,
  changed: Changed,
  findings: Findings,
): Promise<boolean> {
  if (isRunAgain(run, action)) {
    await runCommand(place, run, action, changed, findings);
    return true;
  }
  const isEdited = run.logs.get(action.index)?.modified_by_user === true;
  if (isEdited || runsScripts(action)) {
    await applyRecorded(place, run, action, changed);
    return false;
  }
  const path = writtenPath(action);
  if (path === null) return false;
  const outcome = await toEffect(action, { inspect: place.files.inspect });
  if ('problems' in outcome || outcome.effect.kind !== 'write') return false;
  if (run.logs.get(action.index)?.status !== 'SUCCESS' && run.rows.get(path)?.action !== action.index) return false;
  const world = openFileWorld(async ({ after }) => {
    const target = await place.files.inspect(path);
    await place.files.install(path, after);
    changed.set(realPathOf(path, target), action.index);
  });
  await perform(action, outcome.effect, world);
  return true;
}

/** Runs a command under the same rules as in a run. */
async function runCommand(
  { project, scratch, signal }: ReplayContext,
  run: RecordedRun,
  action: ExecuteAction,
  changed: Changed,
  findings: Findings,
): Promise<void> {
  const { root } = scratch.workspace;
  const before = await scratch.workspace.scan();
  const timeoutMs = action.timeoutMs ?? (await readTimeoutMs(project));
  const { cwd, env, script, index } = action;
  const result = await project
    .shellOf(root)
    .run(script, { cwd, env: { ...env, ...scratch.env }, timeoutMs, signal })
    .catch((error: unknown) => {
      if (error instanceof TeddyError && error.code === 'ACTION_FAILED') return error;
      throw error;
    });
  if (signal.aborted)
    throw new TeddyError('INTERRUPTED', 'The replay was interrupted.', 'Nothing was changed; run it again.');
  if (!(await scratch.isIntact()))
    return findings.differ({ action: index }, "It removed its work tree's repository, so the files were not compared.");
  for (const path of listChanged(before, await scratch.workspace.scan())) {
    if (!isSessionPath(path) && !isRepository(path)) changed.set(path, index);
  }
  if (result instanceof TeddyError)
    return findings.differ({ action: index }, `It could not be run again: ${result.message}`);
  const masked = await maskResult(project.masker, result);
  const details = run.logs.get(index)?.details ?? {};
  for (const { message, diff, stream } of compareCommand(action, details, masked, root)) {
    if (stream !== null && (await isRebased(project.repository.store, run.commit)))
      findings.settle(action, 'not_compared', afterRebase);
    else findings.differ({ action: index, diff }, message);
  }
}

/** The output of commands such as `ls` depends on files that a rebase has replaced. */
const afterRebase = 'its output cannot be compared after a rebase, because it ran on different files';

/** Applies the commit's version, because the versions in between are unknown. */
async function applyRecorded(
  { scratch, files }: ReplayContext,
  run: RecordedRun,
  { index }: Action,
  changed: Changed,
): Promise<void> {
  const changes = run.report.changes.filter(({ action }) => action === index);
  const kept = changes.flatMap(({ path, after }) => (after === null ? [] : [{ path, oid: after }]));
  const bytes = await scratch.workspace.readCheckouts(kept);
  for (const { path } of changes) {
    const content = bytes.get(path);
    if (content === undefined) await files.remove(path);
    else await files.install(path, content, run.changes.get(path)?.mode === '100755');
    changed.set(path, index);
  }
}

async function compareTrees(
  place: ReplayContext,
  run: RecordedRun,
  changed: Changed,
  findings: Findings,
): Promise<void> {
  const { store } = place.scratch;
  const made = new Map((await readMade(place, run.base, changed)).map((change) => [change.path, change]));
  for (const path of new Set([...made.keys(), ...run.changes.keys()])) {
    const [recorded, replayed] = [run.changes.get(path), made.get(path)];
    if (isSame(recorded, replayed)) continue;
    if (recorded === undefined && replayed?.change === 'added' && (await isLeftOut(place, path))) continue;
    const action = changed.get(path) ?? run.rows.get(path)?.action ?? null;
    // teddy has already reported the difference, so this would add nothing.
    if (findings.differences.some((one) => one.path === path && one.action === action)) continue;
    const diff = await renderDifference(store, path, recorded, replayed);
    findings.differ({ action, path, diff }, describe(path, recorded, replayed));
  }
}

async function readMade({ scratch }: ReplayContext, base: Oid, changed: Changed): Promise<TreeChange[]> {
  const { store } = scratch;
  const { tree } = await store.readCommit(base);
  const paths = [...changed.keys()];
  const ignored = new Set(paths.length === 0 ? [] : await scratch.workspace.ignored(paths));
  const taken = paths.filter((path) => !ignored.has(path));
  if (taken.length === 0) return [];
  const after = await scratch.workspace.treeOfPaths(tree, taken);
  return (await store.diffTrees(tree, after)).filter(({ path }) => !isSessionPath(path));
}

function isSame(a: TreeChange | undefined, b: TreeChange | undefined): boolean {
  return a?.change === b?.change && a?.after === b?.after && a?.mode === b?.mode;
}

/** A run also omits these files from its commit. */
async function isLeftOut({ project, scratch }: ReplayContext, path: RepoPath): Promise<boolean> {
  if ((await findPathReason(project, path)) !== null) return true;
  if (((await scratch.workspace.sizeOnDisk(path)) ?? 0) > maxNewFileBytes) return true;
  const bytes = await scratch.workspace.readDisk(path);
  return bytes !== null && (await findContentReason(project, path, bytes)) !== null;
}

function describe(path: RepoPath, recorded: TreeChange | undefined, replayed: TreeChange | undefined): string {
  if (replayed === undefined)
    return `${path} is ${recorded?.change ?? 'changed'} in the commit, but not when the command is run again.`;
  if (recorded === undefined)
    return `${path} is ${replayed.change} when the command is run again, but not in the commit.`;
  return `${path} differs when the command is run again.`;
}

async function renderDifference(
  store: Project['repository']['store'],
  path: RepoPath,
  recorded: TreeChange | undefined,
  replayed: TreeChange | undefined,
): Promise<string | null> {
  const isLink = [recorded, replayed].some((change) => change?.mode === '160000');
  if (isLink) return null;
  const read = async (oid: Oid | null | undefined) => (oid ? store.readBlob(oid) : null);
  const [before, after] = [await read(recorded?.after), await read(replayed?.after)];
  return before === null && after === null ? null : cutDiff(renderUnifiedDiff(path, before, after ?? new Uint8Array()));
}

/** Reports each difference. Leaves the outcome of a change taken from the record open, because applying it proves nothing. */
function proveAll({ changes, rows }: RecordedRun, done: ReadonlySet<number>, findings: Findings): void {
  for (const path of new Set([...changes.keys(), ...findings.open.keys()])) {
    const row = rows.get(path);
    if (row === undefined ? !changes.has(path) : done.has(row.action)) findings.prove(path);
  }
}

/** A repeated action is no longer `not_run`. */
function settle({ parsed }: RecordedRun, done: Set<number>, findings: Findings): void {
  for (const action of parsed.plan.actions) {
    const { outcome, note } = findings.actions.get(action.index) ?? {};
    if (note === afterRebase) continue;
    if (done.has(action.index) && (outcome === 'not_run' || outcome === 'not_compared'))
      findings.settle(action, 'same');
  }
}

/** A difference between a recorded command and its replay. */
interface CommandDifference {
  message: string;
  diff: string | null;
  /** Null when the difference concerns the whole command. */
  stream: 'stdout' | 'stderr' | null;
}

/** Compares a command with its record. `replayed` is masked like the record; `root` is where the replay ran. */
function compareCommand(
  action: ExecuteAction,
  recorded: ActionDetails,
  replayed: CommandResult,
  root: string,
): CommandDifference[] {
  const found: CommandDifference[] = [];
  const [told, now] = [recorded.return_code, replayed.exitCode];
  if (told !== now)
    found.push({ message: `The exit code was ${told ?? '(none)'}, but is now ${now}.`, diff: null, stream: null });
  for (const stream of ['stdout', 'stderr'] as const) {
    const before = recorded[stream] ?? '';
    const after = takeLast(replayed[stream], action.tail ?? shownLines);
    if (isSameOutput(before, after, root)) continue;
    const [from, to] = [before, after].map((text) => new TextEncoder().encode(normaliseOutput(text)));
    const diff = from && to ? cutDiff(renderUnifiedDiff(stream, from, to)) : null;
    found.push({ message: `Its ${stream} differs.`, diff, stream });
  }
  return found;
}

/** Two runs of a command may differ in times, dates and locations without any significance. */

/** `12ms`, `0.5 s`, `1m 3s`, `0m0.005s`; also numbers whose label calls them a duration. */
export function withoutDurations(text: string): string {
  const unit = '(?:ns|[µμu]s|ms|s|secs?|seconds?|mins?|minutes?)';
  return text
    .replace(/(?<![\w.-])(?:\d+\s?h\s?)?\d+\s?m\s?\d+(?:\.\d+)?\s?s(?!\w)/g, '<duration>')
    .replace(new RegExp(`(?<![\\w.-])\\d+(?:[.,]\\d+)?\\s?${unit}(?!\\w)`, 'g'), '<duration>')
    .replace(/\b(duration_ms["']?\s*[:=]?\s*)\d+(?:\.\d+)?/g, '$1<duration>')
    .replace(/\b(time=")\d+(?:\.\d+)?(")/g, '$1<duration>$2');
}

const dayNames = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const monthNames = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const timeOfDay = '\\d{1,2}:\\d{2}:\\d{2}(?:[.,]\\d+)?(?: ?[AP]M)?';

/** Removes times in ISO 8601 and in the formats of `date` and mail; a time of day needs its seconds. */
export function withoutTimes(text: string): string {
  const day = '\\d{4}-\\d{2}-\\d{2}';
  const forms = [
    `${day}[T ]${timeOfDay}(?: ?(?:Z|[+-]\\d{2}:?\\d{2}))?`,
    `${dayNames},? +(?:${monthNames} +\\d{1,2}|\\d{1,2} +${monthNames})(?:,? +\\d{4})? +${timeOfDay}(?: +[A-Z]{2,5}| +[+-]\\d{4})?(?: +\\d{4})?`,
    day,
    timeOfDay,
  ];
  return text.replace(new RegExp(`(?<![\\w.:-])(?:${forms.join('|')})(?![\\w:])`, 'g'), '<time>');
}

/**
 * Removes the script's own directory, which bash names in its errors. Searches from the end, because an output may be
 * one long word.
 */
export function withoutScriptPlace(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (const { 0: name, index } of text.matchAll(/teddy-run-[A-Za-z0-9]{6}(?![A-Za-z0-9])/g)) {
    let start = index;
    while (start > from && !/[\s'"`:=(]/.test(text.charAt(start - 1))) start -= 1;
    parts.push(text.slice(from, start), '<script>');
    from = index + name.length;
  }
  return [...parts, text.slice(from)].join('');
}

/** Returns the form for comparing both sides, without the project's directory. */
function normaliseOutput(text: string): string {
  return withoutDurations(withoutTimes(withoutScriptPlace(text.replaceAll('\r\n', '\n'))));
}

const maxRootLength = 1024;

/**
 * Returns true if two outputs are equivalent. `root` is the directory of the second run. The first run's directory is
 * unknown, so the first output may name any one absolute directory in its place, but always the same one.
 */
export function isSameOutput(recorded: string, replayed: string, root: string): boolean {
  const [known, made] = [normaliseOutput(recorded), normaliseOutput(replayed)];
  if (known === made) return true;
  const marked = made.replaceAll(root, '<root>');
  const at = marked.indexOf('<root>');
  if (at === -1 || known.slice(0, at) !== marked.slice(0, at)) return false;
  const line = known.slice(at).split('\n', 1)[0] ?? '';
  if (!/^(?:\/|[A-Za-z]:[\\/])/.test(line)) return false;
  for (let length = Math.min(line.length, maxRootLength); length > 0; length -= 1) {
    if (known.replaceAll(line.slice(0, length), '<root>') === marked) return true;
  }
  return false;
}
