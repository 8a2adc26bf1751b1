/** A run's journal: how each action began and ended, so that teddy can settle the run after any crash. */
import { TeddyError } from '../../errors.ts';
import type { Oid, RefName, RepoPath, SessionId, TurnName } from '../../names.ts';
import { isObject } from '../../session/text/parse-object.ts';
import type { ActionType } from '../plan.ts';
import type { ActionLog, ReportedMemos } from './report.ts';

/** A run's state after an action: still running, or why the rest does not run. */
export type RunEnd = 'done' | 'failed' | 'quit' | 'interrupted';

/** A path's state; `key` identifies bytes stored by the journal, `mode` contains the permission bits. */
export type KeptState =
  { kind: 'absent' } | { kind: 'file'; key: string; mode: number } | { kind: 'link'; target: string };

export interface RunRecord {
  record: 'run';
  version: 1;
  session: SessionId;
  turn: TurnName;
  ref: RefName;
  /** The absolute path of the run's work tree. */
  root: string;
  /** ISO 8601. */
  startedAt: string;
  /** The indexes of the chosen actions; a continued run may choose fewer, but not more. */
  chosen: number[];
  /** True when an incomplete run restores its files. */
  rollback: boolean;
  /** The decisions made before the first action; teddy does not ask about them again. */
  memos: ReportedMemos;
}

/** The state of everything that an action may change, before the action. */
export type Before =
  /** `afterSha256` is the new content's hash; `madeDirectories` are the missing parents, outermost first. */
  | { kind: 'write'; path: RepoPath; state: KeptState; afterSha256: string; madeDirectories: RepoPath[] }
  /** `scan` comes from a workspace. `kept` has the saved states, `notKept` the unsaved paths, with the reason. */
  | {
      kind: 'command';
      head: Oid | null;
      scan: [path: RepoPath, print: string][];
      kept: [path: RepoPath, state: KeptState][];
      notKept: [path: RepoPath, reason: string][];
      /** Directories without a tracked file, including empty ones; omits directories inside a listed one. */
      directories: RepoPath[];
    }
  | { kind: 'none' };

/** Written durably before the action starts. `target` is the action in one line. */
export interface BeginRecord {
  record: 'begin';
  action: number;
  actionType: ActionType;
  target: string;
  /** ISO 8601. */
  startedAt: string;
  before: Before;
}

/**
 * A process group. `startedAt` is the time at which its leader started, by the system's clock; null when the system
 * does not reveal the time.
 */
export interface ProcessGroup {
  id: number;
  startedAt: string | null;
  /** Identifies processes that have left the group, through a variable in their environment. */
  mark?: string;
}

/** The latest action has started a script. */
interface StartRecord {
  record: 'start';
  group: ProcessGroup;
}

/** A file as left by an action; `before` is the blob that a file action found there, made from the bytes on disk. */
export interface LeftFile {
  path: RepoPath;
  before?: Oid | null;
  /** `mode` is absent when the action did not change the mode. Null when the file does not exist. */
  after: { mode?: '100644' | '100755' | '120000'; oid: Oid } | null;
}

/** An action's outcome, even if the action never began. `output` and `page` are keys of texts stored by the journal. */
export interface EndRecord {
  record: 'end';
  log: ActionLog;
  ended: RunEnd;
  /**
   * The paths that the action changed, each with a fingerprint of the result (`Run.left`). If the action only rewrote
   * equal bytes, `owner` is the action that had changed the path before.
   */
  changed: [path: RepoPath, left: string | null, owner?: number][];
  strays: RepoPath[];
  output?: string;
  page?: string;
  /** The changed files, as the action left them; null when nobody checked. Absent when it changed none. */
  files?: LeftFile[] | null;
  /** An earlier process of the run was killed during the action. */
  crashed?: true;
  /** True when teddy could not determine the action's changes; `changed` is then meaningless. */
  unseen?: true;
}

/** Written before the first file is restored. */
interface RollbackRecord {
  record: 'rollback';
}

export type JournalRecord = RunRecord | BeginRecord | StartRecord | EndRecord | RollbackRecord;

/** One run's state, folded from its records. */
export interface JournaledRun {
  run: RunRecord;
  /** Sorted by their beginnings. */
  begun: BeginRecord[];
  ended: EndRecord[];
  /** The action that began but did not end; null when the crash occurred between two actions. */
  interrupted: BeginRecord | null;
  /** The interrupted action's last script; it may still be running. */
  group: ProcessGroup | null;
  /** True when a rollback was in progress. */
  isRollingBack: boolean;
}

/** Returns one line with its line end. */
export function encodeRecord(record: JournalRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/**
 * Ignores a final record that a crash cut off. Returns null when even the first record is missing: in that case nothing
 * had begun. Throws DAMAGED_SESSION for a journal that is not in the form that teddy writes.
 */
export function decodeJournal(text: string): JournaledRun | null {
  const lines = text.split('\n').slice(0, -1);
  const records = lines.map((line, at) => decodeRecord(line, at + 1));
  const [run, ...rest] = records;
  if (run === undefined) return null;
  if (run.record !== 'run' || run.version !== 1) throw toDamaged(1);
  return foldJournal(run, rest);
}

export function foldJournal(run: RunRecord, records: JournalRecord[]): JournaledRun {
  const begun = records.filter((record) => record.record === 'begin');
  const ended = records.filter((record) => record.record === 'end');
  const last = begun.at(-1);
  const isEnded = ended.some(({ log }) => log.index === last?.action);
  const isRollingBack = records.some(({ record }) => record === 'rollback');
  const interrupted = last === undefined || isEnded ? null : last;
  const started = records.slice(records.indexOf(last as JournalRecord)).findLast(({ record }) => record === 'start');
  const group = interrupted && started?.record === 'start' ? started.group : null;
  return { run, begun, ended, interrupted, group, isRollingBack };
}

function decodeRecord(line: string, number: number): JournalRecord {
  try {
    const record: unknown = JSON.parse(line);
    if (isRecord(record)) return record;
  } catch {
    // Reported below, like any other invalid value.
  }
  throw toDamaged(number);
}

/** Checks only the fields that the fold reads; teddy itself wrote the rest. */
function isRecord(value: unknown): value is JournalRecord {
  if (!isObject(value)) return false;
  switch (value.record) {
    case 'run':
      return (
        ['session', 'turn', 'ref', 'root', 'startedAt'].every((key) => typeof value[key] === 'string') &&
        Array.isArray(value.chosen) &&
        typeof value.rollback === 'boolean'
      );
    case 'begin':
      return typeof value.action === 'number' && typeof value.startedAt === 'string' && isObject(value.before);
    case 'end':
      return isObject(value.log) && typeof value.log.index === 'number' && Array.isArray(value.changed);
    case 'start':
      return isObject(value.group);
    default:
      return value.record === 'rollback';
  }
}

function toDamaged(line: number): TeddyError {
  return new TeddyError(
    'DAMAGED_SESSION',
    `Line ${line} of a run's journal cannot be read.`,
    'The journal is below `.git/teddy/runs`. Check `git status`, then move it away; the plan can be executed again.',
  );
}
