/** The journal of a run: how each action began and ended, so that a run can be settled after any crash. */
import { TeddyError } from '../../errors.ts';
import type { Oid, RefName, RepoPath, SessionId, TurnName } from '../../names.ts';
import { isObject } from '../../session/text/parse-object.ts';
import type { ActionType } from '../plan.ts';
import type { ActionLog, ReportedMemos } from './report.ts';

/** The state of a run after an action: still running, or why the rest is not run. */
export type RunEnd = 'done' | 'failed' | 'quit' | 'interrupted';

/** The state of a path; `key` identifies bytes that the journal stores, `mode` holds the permission bits. */
export type KeptState =
  { kind: 'absent' } | { kind: 'file'; key: string; mode: number } | { kind: 'link'; target: string };

export interface RunRecord {
  record: 'run';
  version: 1;
  session: SessionId;
  turn: TurnName;
  ref: RefName;
  /** The absolute path of the work tree that it runs in. */
  root: string;
  /** ISO 8601. */
  startedAt: string;
  /** Indexes of the chosen actions; a run that is continued may choose fewer, not more. */
  chosen: number[];
  /** Whether a run that does not complete restores its files. */
  rollback: boolean;
  /** The decisions before the first action, which are not asked again. */
  memos: ReportedMemos;
}

/** The state, before an action, of everything that it may change. */
export type Before =
  /** `afterSha256` is the hash of the new content; `madeDirectories` are the parents that did not exist, outermost first. */
  | { kind: 'write'; path: RepoPath; state: KeptState; afterSha256: string; madeDirectories: RepoPath[] }
  /** `scan` comes from a workspace. `kept` has the states that were saved, `notKept` the unsaved paths, with the reason. */
  | {
      kind: 'command';
      head: Oid | null;
      scan: [path: RepoPath, print: string][];
      kept: [path: RepoPath, state: KeptState][];
      notKept: [path: RepoPath, reason: string][];
      /** Directories without a tracked file, including empty ones; what is below them is not listed. */
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

/** A process group; `startedAt` is when its leader started, by the system's clock, or null when it is not revealed. */
export interface ProcessGroup {
  id: number;
  startedAt: string | null;
  /** Identifies processes that have left the group by a variable in their environment. */
  mark?: string;
}

/** A script of the latest action has been started. */
interface StartRecord {
  record: 'start';
  group: ProcessGroup;
}

/** A file as an action left it; `before` is the blob that a file action found there, from the bytes on disk. */
export interface LeftFile {
  path: RepoPath;
  before?: Oid | null;
  /** `mode` is missing when the action left it unchanged. Null when the file does not exist. */
  after: { mode?: '100644' | '100755' | '120000'; oid: Oid } | null;
}

/** The outcome of an action, even of one that never began. `output` and `page` are keys of texts that the journal stores. */
export interface EndRecord {
  record: 'end';
  log: ActionLog;
  ended: RunEnd;
  /**
   * The paths that the action changed, each with a print of what it left there (`Run.left`). If it only rewrote the
   * same bytes, `owner` is the action that had changed the path before.
   */
  changed: [path: RepoPath, left: string | null, owner?: number][];
  strays: RepoPath[];
  output?: string;
  page?: string;
  /** The files that it changed, as it left them; null when nobody checked. Missing when it changed none. */
  files?: LeftFile[] | null;
  /** An earlier process of the run was killed during the action. */
  crashed?: true;
  /** True when its changes could not be determined; `changed` means nothing then. */
  unseen?: true;
}

/** Written before the first file is restored. */
interface RollbackRecord {
  record: 'rollback';
}

export type JournalRecord = RunRecord | BeginRecord | StartRecord | EndRecord | RollbackRecord;

/** The state of one run, folded from its records. */
export interface JournaledRun {
  run: RunRecord;
  /** In the order in which they began. */
  begun: BeginRecord[];
  ended: EndRecord[];
  /** The action that began and did not end; null when the crash happened between two actions. */
  interrupted: BeginRecord | null;
  /** The last script that the interrupted action started; it may still be running. */
  group: ProcessGroup | null;
  /** Whether the files were being restored. */
  isRollingBack: boolean;
}

/** Returns one line with its line end. */
export function encodeRecord(record: JournalRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/**
 * Ignores a final record that a crash has cut off. Returns null when even the first record is missing: nothing had
 * begun then. Throws DAMAGED_SESSION for a journal that teddy did not write this way.
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

/** Checks only the fields that the fold reads; the rest was written by teddy. */
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
