/** What was published stays as it is, and each kind of entry writes what is its business. */
import type { CommitChange } from '../../ports.ts';
import { isSessionPath } from '../../session/global-files.ts';
import { isEditable, isOfSession, mayChangeCode, mayWrite, turnOfPath } from '../../session/line-paths.ts';
import { isTurnName, type RepoPath } from '../../session/names.ts';
import { decodeAdded, readWalkedTurn, type Step, type WalkedCommit, type WalkedLine } from './walked-line.ts';
import type { Rule } from './violation.ts';

/** A commit that is no entry: of the user's own, a landing's, a forger's. What it does wrong is put right by the next entry. */
export function checkForeign(
  { session, published }: WalkedLine,
  { changes }: WalkedCommit,
  blame: (rule: Rule, path: RepoPath | null, message: string) => void,
): void {
  for (const { path, after } of changes) {
    if (!isOfSession(session, path)) continue;
    if (isEditable(session, path)) {
      if (after !== null) published.set(path, after);
      continue;
    }
    if (after !== null && published.get(path) === after) continue;
    blame(
      'published',
      path,
      `A commit that is no entry ${published.has(path) ? 'changes' : 'adds'} a file of the session.`,
    );
  }
}

export async function checkPublished(walk: WalkedLine, step: Step): Promise<void> {
  for (const change of step.commit.changes) {
    if (isOfSession(walk.session, change.path)) await checkOwn(walk, step, change);
    else checkOther(step, change);
  }
  const code = step.commit.changes.filter(({ path }) => !isSessionPath(path));
  const [, second] = code;
  if (step.entry.kind === 'write' && second !== undefined)
    step.blame('published', second.path, 'A write has one target, and this one changes more files.');
}

function checkOther({ entry: { kind }, blame }: Step, { path }: CommitChange): void {
  if (isSessionPath(path)) blame('published', path, 'An entry changes a file of another session.');
  else if (!mayChangeCode(kind)) blame('published', path, `An entry of the kind ${kind} changes code.`);
}

async function checkOwn(walk: WalkedLine, step: Step, change: CommitChange): Promise<void> {
  const { session, published } = walk;
  const { entry, blame } = step;
  const { path, after } = change;
  const known = published.get(path);
  // What a commit of the user's had done to it is put right.
  if (after === known || (after === null && known === undefined)) return;
  if (after === null) {
    blame('published', path, 'A published file was removed.');
    published.delete(path);
    return;
  }
  const { kind, turn } = entry;
  if (!mayWrite(kind, session, turn, path))
    blame('published', path, `An entry of the kind ${kind} does not write this file.`);
  else if (known !== undefined && kind !== 'start' && !isEditable(session, path))
    await checkChanged(walk, step, change);
  else if (path.endsWith('/transcript.jsonl')) await addToTranscript(walk, step, change);
  published.set(path, after);
}

async function checkChanged(walk: WalkedLine, step: Step, change: CommitChange): Promise<void> {
  const { path } = change;
  const { file = '' } = turnOfPath(walk.session, path) ?? {};
  if (file === 'transcript.jsonl') return addToTranscript(walk, step, change);
  if (file !== 'turn.context' && file !== '_context.log')
    return step.blame('published', path, 'A published file was changed.');
  const turn = await readWalkedTurn(walk, step.entry.turn, step.commit.commit.parents[0]);
  if (turn !== null && (turn.plan !== null || turn.hasReport))
    step.blame('published', path, `What the model was shown was changed after turn ${turn.turn} was answered.`);
}

/** Only its end is new, and only that is decoded. */
async function addToTranscript(walk: WalkedLine, step: Step, { path }: CommitChange): Promise<void> {
  const { turn = '' } = turnOfPath(walk.session, path) ?? {};
  const content = await step.commit.contents.get(path);
  if (content?.kind !== 'bytes' || !isTurnName(turn)) return;
  const { bytes } = content;
  const before = walk.published.has(path) ? await readWalkedTurn(walk, turn, step.commit.commit.parents[0]) : null;
  const known = before?.transcript ?? new Uint8Array();
  const isAppended = bytes.length >= known.length && startsWith(bytes, known);
  if (!isAppended) step.blame('published', path, 'The transcript does not begin with what was published of it.');
  const { records, damage } = decodeAdded(isAppended ? bytes.subarray(known.length) : bytes);
  if (damage !== null) step.blame('schema', path, `A line of the transcript is damaged: ${damage}.`);
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
