/**
 * Conversation branches of a session recorded from another program: the point where a branch leaves its line, and its
 * opening entry.
 */
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entries/entry.ts';
import { turnNumber, type Oid, type TurnName } from '../../names.ts';
import type { Draft } from './append.ts';
import { labelBranch } from './entry-labels.ts';

/** A line that attempts may branch off from. */
export interface WrittenLine {
  tip: Oid;
  /** The line's own first turn, and the commit before that turn. */
  opens: { turn: TurnName; leave: Oid } | null;
}

/**
 * Returns the commit at which an attempt leaves a line: before its prompt's turn, or the tip when the line does not
 * have that turn.
 */
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

/** Drafts the entry that begins a conversation branch. */
export function draftOpening({
  from,
  turn,
  id,
  foreign,
}: {
  from: TurnName;
  turn: TurnName;
  id?: string;
  foreign?: Entry['foreign'];
}): Draft {
  return {
    kind: 'branch',
    turn,
    label: labelBranch(from),
    ...(id === undefined ? {} : { id }),
    trailers: foreign === undefined ? {} : { foreign },
  };
}
