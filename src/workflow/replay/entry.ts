/** The files that entries other than reports bring: each has to be the one that its entry tells of. */
import type { ChangedCommit, CommitChange } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Entry } from '../../session/entry.ts';
import { isSessionPath } from '../../session/global-files.ts';
import { mayChangeCode } from '../../session/line-paths.ts';
import { joinPath, turnDir, type RepoPath, type TurnName } from '../../names.ts';
import { toText } from '../line/read.ts';
import type { LogRenderer } from '../verify/render-log-again.ts';
import type { Difference } from './replayed.ts';

export interface LogCheck {
  logs: LogRenderer;
  /** Sections so far. */
  derived: number;
  attested: number;
}

interface EntryStep extends ChangedCommit {
  entry: Entry & { turn: TurnName };
  reported: readonly CommitChange[] | undefined;
}

/** Adds to the counts of `check`. */
export async function compareEntry(project: Project, step: EntryStep, check: LogCheck): Promise<Difference[]> {
  return [...findCode(step), ...compareUndone(step), ...(await compareFile(project, step, check))];
}

function findCode({ entry: { kind, turn }, oid, changes }: EntryStep): Difference[] {
  if (mayChangeCode(kind)) return [];
  const code = changes.filter(({ path }) => !isSessionPath(path));
  const message = `An entry of the kind ${kind} changes code.`;
  return code.map(({ path }) => ({ turn, commit: oid, action: null, path, message, diff: null }));
}

/** An undo puts files back as they were before the report of its turn, and does nothing else. */
function compareUndone({ entry: { kind, turn }, oid, changes, reported }: EntryStep): Difference[] {
  if (kind !== 'undo' || reported === undefined) return [];
  const wanted = new Map(reported.map((change) => [change.path, change]));
  return changes
    .filter(({ path }) => !isSessionPath(path))
    .filter(({ path, after, mode }) => wanted.get(path)?.before !== after || wanted.get(path)?.oldMode !== mode)
    .map(({ path }) => {
      const message = `The undo of turn ${turn} leaves ${path} in another state than it had before that turn.`;
      return { turn, commit: oid, action: null, path, message, diff: null };
    });
}

async function compareFile(project: Project, step: EntryStep, check: LogCheck): Promise<Difference[]> {
  const { entry, oid } = step;
  const path = findFile(step);
  if (path === null || entry.sha256 === undefined) return [];
  const about = { turn: entry.turn, commit: oid, action: null, path, diff: null };
  const found = await project.repository.store.readFile(oid, path);
  if (found === null) return [{ ...about, message: `There is no ${path}, of which its entry tells.` }];
  if (project.hash(found.bytes) !== entry.sha256)
    return [{ ...about, message: `${path} is not the file that its entry tells of: its sha256 is another.` }];
  if (entry.kind !== 'message') return [];
  const { session, turn } = entry;
  const rendered = await check.logs.render({ commit: oid, session, turn, log: toText(found.bytes) });
  check.derived += rendered.derived;
  check.attested += rendered.attested;
  return rendered.differences.map(({ section, message }) => ({ ...about, message: `${section}: ${message}` }));
}

/** The file whose sha256 the entry has. */
function findFile({ entry, changes }: EntryStep): RepoPath | null {
  const dir = turnDir(entry.session, entry.turn);
  if (entry.kind === 'message') return joinPath(dir, '_context.log');
  if (entry.kind === 'plan') return joinPath(dir, 'plan.md');
  if (entry.kind !== 'write') return null;
  const code = changes.filter(({ path }) => !isSessionPath(path));
  return code.length === 1 ? (code[0]?.path ?? null) : null;
}
