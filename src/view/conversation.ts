/** Everything said in a session up to a commit: the records of its turns, in order, read only from that commit's tree. */
import { TeddyError } from '../errors.ts';
import {
  compareTurns,
  isSessionId,
  isTurnName,
  repoPathFromGit,
  sessionDir,
  turnNumber,
  type Oid,
  type SessionId,
  type TurnName,
} from '../names.ts';
import type { Commit, SessionStore } from '../ports/git.ts';
import { decodeEntry } from '../session/entries/entry.ts';
import { decodeTranscript } from '../conversation/history/decode-transcript.ts';
import type { TurnRecords } from '../conversation/history/fold-history.ts';
import type { Repair } from '../conversation/history/history.ts';
import { resolveFiles } from '../conversation/history/resolve-files.ts';

/** `source` is the commit whose tree contains the turns. */
export interface ConversationSource {
  session: SessionId;
  source: Oid;
}

/** Reads the turns, beginning with `from`. */
export async function readTurns(
  store: SessionStore,
  { source, session }: ConversationSource,
  from?: TurnName,
): Promise<{ turns: TurnRecords[]; repairs: Repair[] }> {
  const found: ReadTurn[] = [];
  // One decoder serves all files, because there are many thousands of small ones.
  const decoder = new TextDecoder();
  let turn: TurnName | null = null;
  let ofTurn = new Map<string, string>();
  const endTurn = () => void (turn !== null && found.push(toReadTurn(turn, ofTurn)));
  for await (const files of store.readFilesBelow(source, sessionDir(session), (path) => isOfTurn(path, from))) {
    for (const { path, bytes } of files) {
      const slash = path.indexOf('/');
      const next = path.slice(0, slash) as TurnName;
      // A directory's files follow each other, so the previous turn is complete and can be released.
      if (next !== turn) {
        endTurn();
        turn = next;
        ofTurn = new Map();
      }
      ofTurn.set(path.slice(slash + 1), decoder.decode(bytes));
    }
  }
  endTurn();
  found.sort((one, other) => one.number - other.number || compareTurns(one.turn, other.turn));
  return { turns: found, repairs: found.flatMap(({ repairs }) => repairs) };
}

interface ReadTurn extends TurnRecords {
  turn: TurnName;
  number: number;
  repairs: Repair[];
}

function toReadTurn(turn: TurnName, files: ReadonlyMap<string, string>): ReadTurn {
  const decoded = decodeTranscript(files.get('transcript.jsonl') ?? '');
  const plan = files.get('plan.md') ?? null;
  const resolved = resolveFiles(turn, decoded, { plan, report: files.get('report.md') ?? null });
  return { turn, number: turnNumber(turn), ...resolved };
}

const turnFiles = new Set(['transcript.jsonl', 'plan.md', 'report.md']);

function isOfTurn(path: string, from: TurnName | undefined): boolean {
  const slash = path.indexOf('/');
  const turn = path.slice(0, Math.max(slash, 0));
  return (
    turnFiles.has(path.slice(slash + 1)) && isTurnName(turn) && (from === undefined || compareTurns(turn, from) >= 0)
  );
}

/** Finds a commit's session. `named`, the session that the user asked for, decides when the history does not. */
export async function findSource(
  store: SessionStore,
  commit: Oid,
  named: SessionId | undefined,
): Promise<ConversationSource> {
  let oldest: Commit | undefined;
  for await (const found of store.firstParents(commit)) {
    const entry = decodeEntry(found.commit.message);
    if (entry !== null) return requireHeld(store, { session: entry.session, source: found.oid });
    oldest = found.commit;
  }
  const isCut = oldest !== undefined && oldest.parents.length > 0;
  if (isCut) return { session: await findHeldSession(store, commit, named), source: commit };
  throw new TeddyError(
    'NOT_ON_LINE',
    `No session has an entry at or below ${commit.slice(0, 12)}.`,
    'Name a session or one of its commits; `teddy list` and `teddy log` list them.',
  );
}

/**
 * Throws NOT_ON_LINE when the session is not in the tree: a decision about memos is also an entry, but on a separate
 * branch without sessions.
 */
async function requireHeld(store: SessionStore, at: ConversationSource): Promise<ConversationSource> {
  if ((await readHeldSessions(store, at.source)).includes(at.session)) return at;
  throw new TeddyError(
    'NOT_ON_LINE',
    `The tree of ${at.source.slice(0, 12)} does not contain ${at.session}.`,
    `Name the session: \`teddy history ${at.session}\`.`,
  );
}

/**
 * Finds the session in the tree: in a shallow clone the entry may be cut off, but the whole conversation is still in
 * the tree.
 */
async function findHeldSession(store: SessionStore, commit: Oid, named: SessionId | undefined): Promise<SessionId> {
  const sessions = await readHeldSessions(store, commit);
  if (named !== undefined && sessions.includes(named)) return named;
  const [only] = sessions;
  if (only !== undefined && sessions.length === 1) return only;
  const cut = `The history of ${commit.slice(0, 12)} is cut off before an entry of a session`;
  const hint = 'Fetch the rest of the history: `git fetch --unshallow`.';
  if (only === undefined) throw new TeddyError('NOT_ON_LINE', `${cut}, and its tree contains no session.`, hint);
  const some = sessions.slice(0, 5).join(', ');
  throw new TeddyError('DAMAGED_SESSION', `${cut}, and its tree contains ${sessions.length} sessions: ${some}.`, hint);
}

/**
 * Lists the sessions from their parent directory, which has one row for each; the sessions' own directories may have
 * many thousands of turns.
 */
async function readHeldSessions(store: SessionStore, commit: Oid): Promise<SessionId[]> {
  const held = await store.readDir(commit, repoPathFromGit('.teddy/sessions'));
  return (held?.entries ?? []).flatMap(({ name, mode }) => (mode === '40000' && isSessionId(name) ? [name] : []));
}
