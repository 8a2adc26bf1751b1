/** Checks that published files never change, and that each kind of entry writes only its own files. */
import { unitKinds } from '../../conversation/logs/importer.ts';
import type { CommitChange } from '../../ports/git.ts';
import { attributesPath, attributesText, isSessionPath } from '../../session/global/global-files.ts';
import { isEditable, isOfSession, mayChangeCode, mayWrite, turnOfPath } from '../../session/lines/line-paths.ts';
import { isTurnName, joinPath, turnDir, type Oid, type RepoPath } from '../../names.ts';
import { toText } from '../../view/view.ts';
import { hasAgentPlan } from '../../conversation/records/transcript.ts';
import { decodeAdded, readWalkedTurn, type Step, type WalkedCommit, type WalkedLine } from './walked-line.ts';
import type { Rule } from '../../session/entries/violation.ts';

/**
 * Checks a commit that is not an entry: a user's, a landing's, or a forger's. The next entry restores the files that it
 * damages.
 */
export function checkForeign(
  walk: WalkedLine,
  { changes }: WalkedCommit,
  blame: (rule: Rule, path: RepoPath | null, message: string) => void,
): void {
  const { session, published } = walk;
  for (const { path, after } of changes) {
    if (!isOfSession(session, path)) continue;
    if (isEditable(session, path)) {
      if (after !== null) published.set(path, after);
      continue;
    }
    if (applyRepair(walk, path, after)) continue;
    blame(
      'published',
      path,
      `A commit that is not an entry ${published.has(path) ? 'changes' : 'adds'} a session file.`,
    );
    noteBroken(walk, path);
  }
}

function noteBroken({ broken, published, result }: WalkedLine, path: RepoPath): void {
  const { was, violations } = broken.get(path) ?? { was: published.get(path), violations: [] };
  broken.set(path, { was, violations: [...violations, ...result.violations.slice(-1)] });
}

/** Returns true if the file is as published again; in that case earlier damage no longer counts as a fault. */
function applyRepair(walk: WalkedLine, path: RepoPath, now: Oid | null): boolean {
  const { broken, published, result } = walk;
  if (published.get(path) !== (now ?? undefined)) return false;
  const known = broken.get(path);
  // Another check reports a file that was published in between.
  if (known === undefined || known.was !== published.get(path)) return true;
  result.violations = result.violations.filter((violation) => !known.violations.includes(violation));
  broken.delete(path);
  walk.restored += 1;
  return true;
}

export async function checkPublished(walk: WalkedLine, step: Step): Promise<void> {
  for (const change of step.commit.changes) {
    if (isOfSession(walk.session, change.path)) await checkOwn(walk, step, change);
    else checkOther(step, change);
  }
  checkSpoken(walk, step);
  const code = step.commit.changes.filter(({ path }) => !isSessionPath(path));
  const [, second] = code;
  if (step.entry.kind === 'write' && second !== undefined)
    step.blame('published', second.path, 'A write has one target, but this one changes several files.');
}

/** The transcript must contain an entry's words no later than the entry itself. */
function checkSpoken({ session, published }: WalkedLine, { entry: { kind, turn }, blame }: Step): void {
  if (turn === null || !unitKinds.some((known) => known === kind)) return;
  const path = joinPath(turnDir(session, turn), 'transcript.jsonl');
  if (!published.has(path)) blame('published', path, `The entry is of kind ${kind}, but the turn has no transcript.`);
}

function checkOther({ entry: { kind }, blame }: Step, { path }: CommitChange): void {
  if (isSessionPath(path)) blame('published', path, "An entry changes another session's file.");
  else if (!mayChangeCode(kind)) blame('published', path, `An entry of kind ${kind} changes code, which it must not.`);
}

async function checkOwn(walk: WalkedLine, step: Step, change: CommitChange): Promise<void> {
  const { session, published } = walk;
  const { entry, blame } = step;
  const { path, after } = change;
  const known = published.get(path);
  if (applyRepair(walk, path, after)) return;
  if (after === null) {
    blame('published', path, 'A published file was removed.');
    published.delete(path);
    return;
  }
  const { kind, turn } = entry;
  if (path === attributesPath) await checkAttributes(step, path);
  if (!mayWrite(kind, session, turn, path))
    blame('published', path, `An entry of kind ${kind} must not write this file.`);
  else if (known !== undefined && kind !== 'start' && !isEditable(session, path))
    await checkChanged(walk, step, change);
  else if (path.endsWith('/transcript.jsonl')) await addToTranscript(walk, step, change);
  published.set(path, after);
}

/**
 * Checks the attributes, because with other attributes git would show and check out different bytes than the published
 * ones.
 */
async function checkAttributes({ commit, blame }: Step, path: RepoPath): Promise<void> {
  const content = await commit.contents.get(path)?.read();
  if (content?.kind === 'bytes' && toText(content.bytes) !== attributesText)
    blame('published', path, 'These are not the attributes that teddy sets for its files.');
}

async function checkChanged(walk: WalkedLine, step: Step, change: CommitChange): Promise<void> {
  const { path } = change;
  const { file = '' } = turnOfPath(walk.session, path) ?? {};
  if (file === 'transcript.jsonl') return addToTranscript(walk, step, change);
  if (file !== 'turn.context' && file !== '_context.log')
    return step.blame('published', path, 'A published file was changed.');
  const turn = await readWalkedTurn(walk, step.entry.turn, step.commit.commit.parents[0]);
  // A question about a pending plan has its own request.
  const isAnswered = turn?.plan != null && (step.entry.kind !== 'message' || hasAgentPlan(turn.records));
  if (turn !== null && (isAnswered || turn.hasReport))
    step.blame('published', path, `The context shown to the model was changed after turn ${turn.turn} was answered.`);
}

/** Decodes only the transcript's end, because nothing else is new. */
async function addToTranscript(walk: WalkedLine, step: Step, { path }: CommitChange): Promise<void> {
  const { turn = '' } = turnOfPath(walk.session, path) ?? {};
  const content = await step.commit.contents.get(path)?.read();
  if (content?.kind !== 'bytes' || !isTurnName(turn)) return;
  const { bytes } = content;
  const before = walk.published.has(path) ? await readWalkedTurn(walk, turn, step.commit.commit.parents[0]) : null;
  const known = before?.transcript ?? new Uint8Array();
  const isAppended = bytes.length >= known.length && startsWith(bytes, known);
  if (!isAppended) step.blame('published', path, 'The transcript does not begin with its published part.');
  const { records, damage } = decodeAdded(isAppended ? bytes.subarray(known.length) : bytes);
  if (damage !== null) step.blame('schema', path, `A line in the transcript is damaged: ${damage}.`);
  walk.current = {
    turn,
    plan: before?.plan ?? null,
    hasReport: before?.hasReport ?? false,
    records: isAppended ? [...(before?.records ?? []), ...records] : records,
    transcript: bytes,
  };
}

function startsWith(bytes: Uint8Array, beginning: Uint8Array): boolean {
  return Buffer.compare(bytes.subarray(0, beginning.length), beginning) === 0;
}
