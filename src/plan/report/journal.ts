/** The journal of a run: what each action began with and what came of it, so that a crash never leaves a riddle. */
import { TeddyError } from '../../errors.ts';
import type { Oid, RefName, RepoPath, SessionId, TurnName } from '../../names.ts';
import { isObject } from '../../session/text/parse-object.ts';
import type { ActionType } from '../plan.ts';
import type { ActionLog, ReportedMemos } from './report.ts';

/** How a run stands after an action: on its way, or why the rest is not run. */
export type RunEnd = 'done' | 'failed' | 'quit' | 'interrupted';

/** The state of a path; `key` are bytes that the journal keeps, `mode` permission bits. */
export type KeptState =
  { kind: 'absent' } | { kind: 'file'; key: string; mode: number } | { kind: 'link'; target: string };

export interface RunRecord {
  record: 'run';
  version: 1;
  session: SessionId;
  turn: TurnName;
  ref: RefName;
  /** Absolute: the work tree that it runs in. */
  root: string;
  /** ISO 8601. */
  startedAt: string;
  /** Indexes of the actions that were chosen; whoever goes on with the run may choose fewer, not more. */
  chosen: number[];
  /** A run that does not come to its end puts its files back. */
  rollback: boolean;
  /** The decisions before the first action; nobody asks for them again. */
  memos: ReportedMemos;
}

/** The state of everything that an action may change, before it. */
export type Before =
  /** `afterSha256` is of what will be written; `madeDirectories` are the parents that did not exist, the outermost first. */
  | { kind: 'write'; path: RepoPath; state: KeptState; afterSha256: string; madeDirectories: RepoPath[] }
  /** `scan` is a workspace's: of its paths, the states that are kept, and those that are not, with the reason. */
  | {
      kind: 'command';
      head: Oid | null;
      scan: [path: RepoPath, print: string][];
      kept: [path: RepoPath, state: KeptState][];
      notKept: [path: RepoPath, reason: string][];
      /** Those without a tracked file, the empty ones too; nothing is said of what is below one. */
      directories: RepoPath[];
    }
  | { kind: 'none' };

/** Durable before the action starts. `target` is the action in one line. */
export interface BeginRecord {
  record: 'begin';
  action: number;
  actionType: ActionType;
  target: string;
  /** ISO 8601. */
  startedAt: string;
  before: Before;
}

/** A process group; `startedAt` is the system's own time of its leader's start, null where the system does not tell. */
export interface ProcessGroup {
  id: number;
  startedAt: string | null;
  /** Processes that have left the group have it in their environment. */
  mark?: string;
}

/** A script of the action that was begun last has been started. */
interface StartRecord {
  record: 'start';
  group: ProcessGroup;
}

/** A file as an action left it; `before`: the blob that a file action has found there, as its bytes are on disk. */
export interface LeftFile {
  path: RepoPath;
  before?: Oid | null;
  /** `mode` is absent where the action leaves it as it was. Null: there is no file. */
  after: { mode?: '100644' | '100755' | '120000'; oid: Oid } | null;
}

/** The outcome of an action, also of one that was never begun. `output` and `page` are keys of texts that the journal keeps. */
export interface EndRecord {
  record: 'end';
  log: ActionLog;
  ended: RunEnd;
  /**
   * The paths that the action changed, each with a print of what it left there (`Run.left`). A path that it only wrote again,
   * with the same bytes, has the `owner` that had changed it before.
   */
  changed: [path: RepoPath, left: string | null, owner?: number][];
  strays: RepoPath[];
  output?: string;
  page?: string;
  /** The files that it changed, as it left them; null: nobody looked. Absent where it changed none. */
  files?: LeftFile[] | null;
  /** An earlier process of the run was killed in the action. */
  crashed?: true;
  /** True when its changes could not be looked at: `changed` says nothing. */
  unseen?: true;
}

/** Written before the first file is put back. */
interface RollbackRecord {
  record: 'rollback';
}

export type JournalRecord = RunRecord | BeginRecord | StartRecord | EndRecord | RollbackRecord;

/** The records of one run, folded. */
export interface JournaledRun {
  run: RunRecord;
  /** In the order in which they began. */
  begun: BeginRecord[];
  ended: EndRecord[];
  /** The action that began and did not end; null when the crash came between two actions. */
  interrupted: BeginRecord | null;
  /** The script that the interrupted action has started last: it may be running still. */
  group: ProcessGroup | null;
  /** The files were being put back. */
  isRollingBack: boolean;
}

/** One line, ended. */
export function encodeRecord(record: JournalRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/**
 * A record that a crash has cut at the end is none. Null when there is no first record yet: nothing was begun then.
 * Throws DAMAGED_SESSION for a journal that teddy did not write so.
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
    // Said below, as for any other value.
  }
  throw toDamaged(number);
}

/** Checks the fields that the fold reads; the rest is ours, as we wrote it. */
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
    'It lies under `.git/teddy/runs`. Look at `git status`, then move it away; the plan can be executed again.',
  );
}
