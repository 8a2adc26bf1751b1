/** Finds the lines that a change adds to a branch: every line with an entry that the branch does not have yet. */
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import type { Oid, SessionId } from '../../names.ts';
import { findRecorded, parseRange, requireCommit, type RecordedLine } from '../line/find-recorded.ts';

interface BroughtLine extends RecordedLine {
  after: Oid;
  /** The line's newest entry. */
  entry: Oid;
}

/** The commits between two others. `base` is the merge target. */
export interface BroughtChange {
  name: string;
  base: Oid;
  head: Oid;
  /** The line that `head` is on comes first. Every entry in the change is on one of the lines. */
  lines: BroughtLine[];
}

/** Returns null when the target is not a range, or when the range has no beginning. Throws the errors of `findRecorded`. */
export async function findBrought(project: Project, target: string | undefined): Promise<BroughtChange | null> {
  const { store } = project.repository;
  const range = parseRange(target);
  if (target === undefined || range === null || range.from === '') return null;
  const base = await requireCommit(store, range.from);
  const head = await findHead(project, range.to);
  return { name: target, base, head, lines: await listLines(store, { name: target, base, head }) };
}

/** Finds the commit itself, because a merge need not be on a line. */
async function findHead(project: Project, to: string): Promise<Oid> {
  const tip = to === '' ? null : await project.repository.store.resolve(to);
  return tip ?? (await findRecorded(project, to === '' ? undefined : to)).tip;
}

async function listLines(store: Store, { name, base, head }: Omit<BroughtChange, 'lines'>): Promise<BroughtLine[]> {
  const lines = new Map<Oid, BroughtLine>();
  // The commits on the lines listed so far, by session, so that teddy does not walk them again.
  const walked = new Map<SessionId, Set<Oid>>();
  const add = async (tip: Oid, line: Pick<BroughtLine, 'session' | 'entry' | 'name'>) => {
    const seen = walked.get(line.session) ?? new Set<Oid>();
    walked.set(line.session, seen);
    for await (const { oid } of store.firstParents(tip, [base])) {
      // A separately listed line is part of this one.
      if (oid !== tip && lines.get(oid)?.session === line.session) lines.delete(oid);
      if (seen.has(oid)) break;
      seen.add(oid);
    }
    lines.set(tip, { ...line, ref: null, tip, after: base });
  };
  const own = await findOwn(store, base, head);
  if (own !== null) await add(head, { ...own, name });
  for (const oid of await store.findReachable('Teddy-Entry-Id: ', head, [base])) {
    const session = decodeEntry((await store.readCommit(oid)).message)?.session;
    if (session !== undefined && !walked.get(session)?.has(oid)) await add(oid, { session, entry: oid, name: oid });
  }
  return [...lines.values()];
}

/** Finds the nearest entry at or below `head`, along first parents. */
async function findOwn(store: Store, base: Oid, head: Oid): Promise<Pick<BroughtLine, 'session' | 'entry'> | null> {
  for await (const { oid, commit } of store.firstParents(head, [base])) {
    const session = decodeEntry(commit.message)?.session;
    if (session !== undefined) return { session, entry: oid };
  }
  return null;
}
