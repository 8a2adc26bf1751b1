/** Repeats a plan's actions on the parent's tree, in memory. Takes the effects of commands from the record. */
import type { Action } from '../../plan/plan.ts';
import { layerFiles } from '../../plan/effects/virtual-files.ts';
import { perform, toEffect, writtenPath } from '../../plan/actions/actions.ts';
import { openFileWorld } from '../../plan/actions/world.ts';
import type { ActionDetails } from '../../plan/effects/action-details.ts';
import type { RepoPath } from '../../names.ts';
import { realPathOf } from '../../session/paths/out-of-reach.ts';
import { maskString } from '../line/mask-text.ts';
import { findFilter, mayBeConverted, whyNotTaken } from './rules.ts';
import { inspectTree } from '../line/inspect-tree.ts';
import { runsScripts, wasRun, type Findings, type RecordedRun } from './turn.ts';
import { type EditedCode, openEditedCode, type CodeFile } from '../line/edited-code.ts';
import { hasTrees } from '../run/left-files.ts';
import { isRebased } from '../verify/compare-section.ts';

/** A file after the plan's last action that wrote it. */
export interface WrittenFile {
  /** The real path, if the plan's path goes through a link. */
  path: RepoPath;
  action: Action;
  before: Uint8Array | null;
  after: Uint8Array;
  /** True when the report shows that the action did not finish. */
  isUnsure: boolean;
}

export interface RedoneActions {
  written: Map<RepoPath, WrittenFile>;
  /** Actions that ran scripts, in order. */
  scripts: number[];
  moments: Moments;
}

export async function redoActions(run: RecordedRun, findings: Findings): Promise<RedoneActions> {
  const { store } = run.project.repository;
  const files = layerFiles(inspectTree(store, run.base));
  const moments = await openMoments(run);
  const redone: RedoneActions = { written: new Map(), scripts: [], moments };
  for (const action of run.parsed.plan.actions) {
    const log = run.logs.get(action.index);
    if (!wasRun(log)) findings.settle(action, 'skipped', log?.details?.reason ?? null);
    else if (log?.modified_by_user === true) {
      if (runsScripts(action)) redone.scripts.push(action.index);
      await applyRecorded(run, action, files.write);
      await moments.take(action, findings);
      findings.settle(action, 'edited_by_user');
    } else if (runsScripts(action)) {
      redone.scripts.push(action.index);
      await applyRecorded(run, action, files.write);
      await moments.take(action, findings);
      findings.settle(action, 'not_run');
    } else {
      const path = writtenPath(action);
      if (path === null) findings.settle(action, 'same');
      else await redoWrite(run, action, path, files, redone, findings);
    }
  }
  return redone;
}

type Files = ReturnType<typeof layerFiles>;

/**
 * Applies a recorded deletion. A deleted file no longer exists for later actions, which would fail now as they did in
 * the run.
 */
async function applyRecorded(
  { project, report }: RecordedRun,
  { index }: Action,
  write: Files['write'],
): Promise<void> {
  for (const { path, action, after } of report.changes) {
    if (action !== index || after === null) continue;
    // A submodule has no blob.
    if ((await project.repository.store.readSize(after)) === null) continue;
    await write(path, await project.repository.store.readBlob(after));
  }
}

async function redoWrite(
  run: RecordedRun,
  action: Action,
  path: RepoPath,
  files: Files,
  redone: RedoneActions,
  findings: Findings,
): Promise<void> {
  const mask = (text: string) => maskString(run.project.masker, text);
  const log = run.logs.get(action.index);
  const target = await files.inspect(path);
  const outcome = await toEffect(action, { inspect: files.inspect, mask, grammar: run.grammar });
  if ('problems' in outcome) {
    redone.moments.doubt();
    const reason = outcome.problems.map(({ message }) => message).join('; ');
    if (log?.status !== 'SUCCESS') {
      const isSame = log?.details?.reason === reason;
      return findings.settle(
        action,
        isSame ? 'same' : 'not_compared',
        isSame ? null : 'it failed, and its reason is not in the repository',
      );
    }
    const unsure = await whyUnsure(run, action, path, redone);
    if (unsure !== null) {
      findings.leaveOpen(path, action.index, unsure);
      return findings.settle(action, 'not_compared', unsure);
    }
    findings.differ({ action: action.index, path }, `It was done, but cannot be repeated: ${reason}`);
    return findings.settle(action, 'different');
  }
  const { effect } = outcome;
  if (effect.kind !== 'write') return;
  const real = realPathOf(path, target);
  const isUnsure = log?.status !== 'SUCCESS';
  const known = redone.written.get(real);
  const world = openFileWorld(async ({ after }) => {
    await files.write(real, after);
    if (real !== path) await files.write(path, after);
    const before = known === undefined ? effect.before : known.before;
    redone.written.set(real, { path: real, action, before, after, isUnsure });
    await redone.moments.write(real, after);
    if (isUnsure) redone.moments.doubt();
    const isExcused = () => isGitsOwn(run, real, { after, isNew: before === null });
    await redone.moments.check(action, findings, isExcused);
  });
  const isDone = !isUnsure || run.rows.get(real)?.action === action.index;
  const { details } = isDone ? await perform(action, effect, world) : {};
  if (!isUnsure && redone.scripts.length === 0) {
    const message = compareMatches(log?.details, details);
    if (message !== null) findings.differ({ action: action.index, path }, message);
  }
  findings.settle(action, isUnsure ? 'not_compared' : 'same', isUnsure ? 'it did not finish' : null);
}

/** Older reports record only the first place. */
function compareMatches(told: ActionDetails = {}, found: ActionDetails = {}): string | null {
  const listAll = ({ line, match, matches = [] }: ActionDetails) => [{ line, match }, ...matches];
  const [was, is] = [listAll(told), listAll(found)];
  const count = told.matches === undefined ? 1 : Math.max(was.length, is.length);
  for (let at = 0; at < count; at += 1) {
    const [a, b] = [was[at], is[at]].map((place) => `line ${place?.line ?? '(none)'} (${place?.match ?? 'none'})`);
    if (a !== b) return `FIND was found at ${a}, but is now at ${b}.`;
  }
  return null;
}

/** Returns true if git may legitimately have other content at the path than the plan's. */
async function isGitsOwn(run: RecordedRun, path: RepoPath, { after, isNew }: { after: Uint8Array; isNew: boolean }) {
  const { report, foreign, commit, project } = run;
  const isRefused = report.run_summary.status === 'FAILURE' && report.changes.length === 0;
  if (isRefused || foreign.has(path) || mayBeConverted(after)) return true;
  if (isNew && (await whyNotTaken(run, path)) !== null) return true;
  return (await findFilter(project.repository.store, commit, path)) !== null;
}

export const foreignReason = 'a commit by the user between the plan and its report changed the file';

/** Returns the reason why a replay in memory cannot determine the state that an action found; null when it can. */
export async function whyUnsure(
  { project, commit, foreign }: RecordedRun,
  action: Action,
  path: RepoPath,
  { scripts, moments }: RedoneActions,
): Promise<string | null> {
  // When the report's tree after the command matches, the command cannot have left anything else for the action.
  const earlier = moments.isSeen(action.index) ? undefined : scripts.find((index) => index < action.index);
  if (earlier !== undefined) return `action ${earlier}, a command, ran before it and may have changed the file`;
  if (foreign.has(path)) return foreignReason;
  const filter = await findFilter(project.repository.store, commit, path);
  return filter === null ? null : `git keeps the file in another form (${filter})`;
}

/**
 * Compares the code after each action, derived from the parent's tree and the plan, with the report's trees. A tree
 * proves nothing by itself, because a forger can forge the trees too; it only shows that the report is consistent.
 */
interface Moments {
  /** Records a file action's result. `check` must follow. */
  write(path: RepoPath, bytes: Uint8Array): Promise<void>;
  /** Stops comparing trees, because too much of the code is unknown from here on. */
  doubt(): void;
  /**
   * Checks the tree after an action whose effect the plan determines. Calls `isExcused` when the tree differs, because
   * git may store the file differently.
   */
  check(action: Action, findings: Findings, isExcused: () => Promise<boolean>): Promise<void>;
  /** Takes the tree after an action with a recorded effect. */
  take(action: Action, findings: Findings): Promise<void>;
  /** Returns true if the code after the action matches the report. */
  isSeen(action: number): boolean;
  /** Returns true if the report has the same tree before and after a command. */
  isQuiet(action: number): boolean;
}

async function openMoments(run: RecordedRun): Promise<Moments> {
  const { store } = run.project.repository;
  const seen = new Set<number>();
  const quiet = new Set<number>();
  // A rebase does not change the report, so its trees belong to other code and prove nothing.
  let code: EditedCode | null =
    hasTrees(run.report) && !(await isRebased(store, run.commit))
      ? await openEditedCode(store, (await store.readCommit(run.base)).tree)
      : null;
  // The report's tree before the next action.
  let told = code === null ? null : await code.oid();
  const treeOf = ({ index }: Action) => run.logs.get(index)?.tree ?? null;

  async function matches(tree: string | null): Promise<boolean> {
    return code !== null && tree !== null && (await code.oid()) === tree;
  }

  return {
    async write(path, bytes) {
      if (code === null) return;
      const mode = (await code.get(path))?.mode ?? '100644';
      await code.set(path, { mode, oid: await store.batch().blob(bytes) });
    },
    doubt: () => void (code = null),
    async check(action, findings, isExcused) {
      const tree = treeOf(action);
      if (code === null || tree === null) code = null;
      else if (await matches(tree)) seen.add(action.index);
      else {
        code = null;
        if (!(await isExcused()))
          findings.differ(
            { action: action.index },
            'The tree that the report records after it is not the tree that the plan produces.',
          );
      }
      told = tree;
    },
    async take(action, findings) {
      const tree = treeOf(action);
      const rows = run.report.changes.filter((row) => row.action === action.index);
      if (tree !== null && tree === told) {
        quiet.add(action.index);
        for (const { path } of rows)
          findings.differ(
            { action: action.index, path },
            `The report says that it changed ${path}, but records the same tree before and after it.`,
          );
      } else if (code !== null) {
        for (const { path } of rows) await code.set(path, toFile(run, path));
        if (!(await matches(tree))) code = null;
      }
      if (code !== null) seen.add(action.index);
      told = tree;
    },
    isSeen: (action) => seen.has(action),
    isQuiet: (action) => quiet.has(action),
  };
}

/** Reads the file from the commit. */
function toFile({ changes }: RecordedRun, path: RepoPath): CodeFile | null {
  const change = changes.get(path);
  return change === undefined || change.after === null || change.mode === null
    ? null
    : { mode: change.mode, oid: change.after };
}
