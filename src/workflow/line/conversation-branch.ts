/** Conversation branches of a session that another program wrote: where one leaves a line, and the entry that opens it. */
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entry.ts';
import { toLaterId } from '../../session/logged-entry.ts';
import { turnNumber, type Oid, type TurnName } from '../../names.ts';
import { findEntry } from './read.ts';
import { nextAfter, writeDraft } from './write-entry.ts';

/** A line that attempts may leave. */
export interface WrittenLine {
  tip: Oid;
  /** The first turn of its own, and what it has before that. */
  opens: { turn: TurnName; leave: Oid } | null;
}

/** Where an attempt leaves a line: before the turn in which its prompt was typed, or at the end where there is no such turn. */
export async function findLeave(project: Project, { tip, opens }: WrittenLine, from: TurnName): Promise<Oid> {
  if (opens !== null && turnNumber(opens.turn) === turnNumber(from)) return opens.leave;
  let leave = tip;
  for await (const { commit } of project.repository.store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry !== null && (entry.turn === null || turnNumber(entry.turn) < turnNumber(from))) break;
    if (entry !== null) leave = commit.parents[0] ?? leave;
  }
  return leave;
}

/** The entry with which the conversation branch begins, on no ref yet. */
export async function writeOpening(
  project: Project,
  leave: Oid,
  { from, turn, id, foreign }: { from: TurnName; turn: TurnName; id?: string; foreign?: Entry['foreign'] },
): Promise<{ commit: Oid; entry: Entry }> {
  const { entry: last } = await findEntry(project.repository.store, leave);
  const entry: Entry = {
    kind: 'branch',
    ...nextAfter(last, project),
    ...(id === undefined ? {} : { id: toLaterId(id, last) }),
    turn,
    title: `from turn ${from}`,
    details: [],
    ...(foreign === undefined ? {} : { foreign }),
  };
  return { commit: await writeDraft(project, leave, { entry, files: [] }), entry };
}
