/** Branches off a session at the beginning of a turn: makes a conversation branch with exactly that turn's context. */
import { openingKinds } from '../../session/lines/line-order.ts';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import {
  archivePrefix,
  conversationBranchRef,
  parseArchiveRef,
  parseTurnName,
  shortRef,
  toTurnName,
  turnNumber,
  type Oid,
  type RefName,
  type SessionId,
  type TurnName,
} from '../../names.ts';
import { labelBranch } from '../line/entry-labels.ts';
import { beginLine } from '../line/append.ts';
import { prepareLineOf, type ReadyLine } from '../line/prepare.ts';
import { findTurn, readLineTurns, readTurnFile, type LineState } from '../../view/view.ts';
import { canStay, switchOrDelete } from '../line/switch.ts';

export interface BranchRequest {
  turn: string;
  selector?: string | undefined;
  switch: boolean;
}

export interface Branched {
  from: ReadyLine;
  ref: RefName;
  turn: TurnName;
  commit: Oid;
  switched: boolean;
}

/**
 * Makes the branch. Throws UNKNOWN_TURN; FILES_IN_THE_WAY when edits prevent the switch, in which case it deletes the
 * new branch again.
 */
export async function branchSession(project: Project, request: BranchRequest): Promise<Branched> {
  parseTurnName(request.turn);
  const line = await prepareLineOf(project, request, { forks: true });
  const { state } = line;
  const original = findTurn(state, request.turn);
  const { leave, asked } = await findOpening(project, state, original);
  const files = await readContext(project, state, original, asked);
  const { ref, turn, commit } = await beginBranch(project, state, original, leave, files);
  const place = request.switch ? (line.workspace ?? project.repository.workspace) : null;
  if (place) await switchOrDelete(project, place, ref, commit, canStay);
  return { from: line, ref, turn, commit, switched: place !== null };
}

/**
 * `leave` is the parent of the entry that opened the turn, with exactly the code that the turn saw. `asked` is the
 * entry with its request; questions about its plan came later.
 */
async function findOpening(project: Project, state: LineState, turn: TurnName): Promise<{ leave: Oid; asked: Oid }> {
  let parent: Oid | null = null;
  let asked = state.entryOid;
  for await (const { oid, commit } of project.repository.store.firstParents(state.tip)) {
    const entry = decodeEntry(commit.message);
    if (entry?.session !== state.session) continue;
    if (entry.turn === turn && entry.kind === 'plan') asked = oid;
    // The oldest entry counts: a conversation's late entries may have come after later turns.
    if (entry.turn === turn && openingKinds.includes(entry.kind)) parent = commit.parents[0] ?? null;
    if (entry.kind === 'start') break;
  }
  if (parent !== null) return { leave: parent, asked };
  const hint = 'A shallow clone may lack it: `git fetch --unshallow`.';
  throw new TeddyError('UNKNOWN_TURN', `The commit that opened turn ${turn} is not in this clone.`, hint);
}

async function readContext(
  project: Project,
  state: LineState,
  turn: TurnName,
  asked: Oid,
): Promise<Record<string, string>> {
  const { store } = project.repository;
  const files: Record<string, string> = {};
  for (const name of ['turn.context', '_context.log']) {
    const text = await readTurnFile(store, { commit: asked, session: state.session, turn }, name);
    if (text !== null) files[name] = text;
  }
  // Without a file, the turn would not be on the line, and the next message would open another turn with its number.
  return Object.keys(files).length > 0 ? files : { 'turn.context': '' };
}

async function beginBranch(
  project: Project,
  state: LineState,
  original: TurnName,
  leave: Oid,
  files: Record<string, string>,
): Promise<{ ref: RefName; turn: TurnName; commit: Oid }> {
  const taken = await readTakenBranches(project, state.session);
  const trailers = await readAgent(project, state, original);
  // Its ID is later than any on the line.
  const place = { ...(await readLineTurns(project.repository.store, leave)), entry: state.entry };
  for (let number = 1; ; number += 1) {
    const turn = toTurnName(turnNumber(original), number);
    if (taken.has(turn)) continue;
    const ref = conversationBranchRef(state.session, turn);
    const draft = { kind: 'branch', turn, label: labelBranch(original), trailers, files } as const;
    const begun = await beginLine(project, ref, place, draft);
    if (begun !== null) return { ref, turn, commit: begun.commit };
    taken.add(turn);
  }
}

/** Returns the agent of the turn where the branch leaves; the branch continues with that agent. */
async function readAgent(project: Project, state: LineState, turn: TurnName): Promise<{ agent?: string }> {
  for await (const { commit } of project.repository.store.firstParents(state.entryOid)) {
    const entry = decodeEntry(commit.message);
    if (entry?.turn === turn && entry.agent !== undefined) return { agent: entry.agent };
    if (entry?.kind === 'start') break;
  }
  return {};
}

export async function readTakenBranches(project: Project, session: SessionId): Promise<Set<string>> {
  const refs = await project.repository.store.listRefs('refs/heads/teddy/', 'refs/remotes/*/teddy/*', archivePrefix);
  return new Set(
    refs.flatMap(({ ref }) => {
      const [, name = ''] = shortRef(parseArchiveRef(ref)?.line ?? ref).split(`teddy/${session}--`);
      return name === '' ? [] : [name];
    }),
  );
}
