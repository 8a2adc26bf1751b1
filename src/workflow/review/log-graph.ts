/** Draws all of a session's lines as one graph: shows each commit once, and the points where the lines separate. */
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { archivePrefix, type Oid, type SessionId } from '../../names.ts';
import { toLogged, type LoggedEntry } from '../../session/entries/logged-entry.ts';
import { findRecorded, type RecordedLine } from '../line/find-recorded.ts';
import { readLines, type OwnPart, type Step } from '../../view/view.ts';
import { listSessionLines, type RefLabel, type SessionLine } from '../../session/lines/session-lines.ts';

export interface GraphLine extends Omit<SessionLine, 'ref' | 'branch' | 'isMain'> {
  /** True when HEAD is on this line. */
  isHead: boolean;
  /**
   * The entry from which this line continues, and the line with that entry; null when this line begins the session or
   * its known part.
   */
  leaves: { commit: Oid; line: string } | null;
  /** The number of lines between this line and a line that leaves no other. */
  depth: number;
}

export interface GraphEntry extends LoggedEntry {
  parent: Oid | null;
  /** The first line with this entry; the main line comes before its branches. */
  line: string;
  /** Other refs that point to this entry. */
  labels: string[];
}

export interface SessionGraph {
  session: SessionId;
  lines: GraphLine[];
  /** Newest first: each line as a whole, and a branch directly above the entry that it leaves. */
  entries: GraphEntry[];
}

interface Walked {
  line: GraphLine;
  entries: GraphEntry[];
}

/** Draws the session to which `target` belongs. Throws the errors of `findRecorded`. */
export async function graphSession(project: Project, target: string | undefined): Promise<SessionGraph> {
  const wanted = await findRecorded(project, target);
  const [{ lines, labels }, head] = await Promise.all([
    listSessionLines(project, wanted.session),
    project.repository.workspace?.head(),
  ]);
  const isOnHead = (line: SessionLine) => line.ref !== null && line.ref === head?.ref;
  const { walked, more } = await walkLines(
    project.repository.store,
    wanted.session,
    withWanted(lines, wanted).map((line) => ({ ...line, isHead: isOnHead(line) })),
  );
  addLabels(walked, [...labels, ...more]);
  return { session: wanted.session, lines: walked.map(({ line }) => line), entries: inOrder(walked) };
}

/** Adds a requested commit, or a custom-named line with the user's commits on top. */
function withWanted(lines: SessionLine[], { ref, name, tip }: RecordedLine): SessionLine[] {
  if (lines.some((line) => line.tip === tip)) return lines;
  const kind = ref?.startsWith(archivePrefix) ? 'archived' : 'local';
  return [...lines, { name, ref, tip, kind, remote: null, branch: null, isMain: false }];
}

/** A line without entries of its own becomes a label on another line. */
async function walkLines(
  store: Store,
  session: SessionId,
  lines: (SessionLine & { isHead: boolean })[],
): Promise<{ walked: Walked[]; more: RefLabel[] }> {
  const walked = new Map<OwnPart<(typeof lines)[number]>, Walked>();
  const more: RefLabel[] = [];
  for (const part of await readLines(store, session, lines)) {
    const { name, tip, kind, remote, isHead } = part.line;
    const from = part.leaves && walked.get(part.leaves.part)?.line;
    const leaves = from == null || part.leaves === null ? null : { commit: part.leaves.commit, line: from.name };
    const line = { name, tip, kind, remote, isHead, leaves, depth: from == null ? 0 : from.depth + 1 };
    if (part.steps.length === 0) more.push({ name: isHead ? `HEAD -> ${name}` : name, tip });
    else walked.set(part, { line, entries: part.steps.map((step) => toEntry(step, name)).toReversed() });
  }
  return { walked: [...walked.values()], more };
}

function toEntry(step: Step, line: string): GraphEntry {
  return { ...toLogged(step), parent: step.parent, line, labels: [] };
}

function addLabels(walked: readonly Walked[], labels: readonly RefLabel[]): void {
  const entries = new Map(walked.flatMap((one) => one.entries.map((entry) => [entry.commit, entry] as const)));
  const lines = new Set(walked.map(({ line }) => line.name));
  for (const { name, tip } of labels) if (!lines.has(name)) entries.get(tip)?.labels.push(name);
}

/** Sorts the newest of several branches that leave the same entry to the top. */
function inOrder(walked: readonly Walked[]): GraphEntry[] {
  const leaving = new Map<Oid | null, Walked[]>();
  for (const one of walked) {
    const from = one.line.leaves?.commit ?? null;
    leaving.set(from, [one, ...(leaving.get(from) ?? [])]);
  }
  const list = (one: Walked): GraphEntry[] =>
    one.entries.flatMap((entry) => [...(leaving.get(entry.commit) ?? []).flatMap(list), entry]);
  return (leaving.get(null) ?? []).toReversed().flatMap(list);
}
