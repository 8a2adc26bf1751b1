/** Puts an answer on its line, whole or in part, if the turn still waits for it; else keeps it where it can be found. */
import type { NoteRecord, TranscriptRecord } from '../conversation/record.ts';
import { countSaid, encodeRecord } from '../conversation/transcript.ts';
import { TeddyError } from '../errors.ts';
import type { AnswerPlace, Project } from '../ports.ts';
import type { Entry } from '../session/entry.ts';
import { formatCount } from '../session/format-count.ts';
import { joinPath, turnDir, type Oid } from '../session/names.ts';
import { appendEntry, type Target } from './append-entry.ts';
import type { Draft, FileEdit } from './write-entry.ts';
import { readLine, toText, type LineState } from './read-line.ts';
import type { Received, Usage } from './receive-answer.ts';

export type ReceivedText = Pick<Received, 'text' | 'usage' | 'continuations'>;

/** What only a complete answer has. */
interface AnswerDraft {
  kind: 'plan' | 'reply';
  title: string;
  details: string[];
}

/** Null: the turn does not wait for it any more, and nothing was kept. */
export async function keepWhole(
  project: Project,
  target: Target,
  place: AnswerPlace,
  received: ReceivedText,
  { kind, title, details }: AnswerDraft,
): Promise<Oid | null> {
  const { text } = received;
  const dir = turnDir(place.session, place.turn);
  const plan: FileEdit[] = kind === 'plan' ? [{ path: joinPath(dir, 'plan.md'), bytes: text }] : [];
  const message =
    kind === 'plan' ? { role: 'assistant' as const, file: 'plan.md' } : { role: 'assistant' as const, content: text };
  const record = { type: 'assistant' as const, message, source: kind === 'plan' ? 'plan' : 'text' };
  const sha256 = kind === 'plan' ? { sha256: project.hash(text) } : {};
  return appendIfAwaited(project, target, place, (state) => ({
    entry: { ...toAnswerEntry(project, state, place, kind, received.usage), title, details, ...sha256 },
    files: [...plan, toTranscript(project, state, place, received, record)],
  }));
}

/** An interrupted answer stays on the line, flagged; the turn stays open. Null: as for `keepWhole`. */
export async function keepPart(
  project: Project,
  target: Target,
  place: AnswerPlace,
  received: ReceivedText,
): Promise<Oid | null> {
  const { text } = received;
  const record = {
    type: 'assistant_partial' as const,
    message: { role: 'assistant' as const, content: text },
    source: 'text',
  };
  return appendIfAwaited(project, target, place, (state) => ({
    entry: {
      ...toAnswerEntry(project, state, place, 'reply', received.usage),
      ...toLabelLines(text),
      title: 'interrupted answer',
      status: 'PARTIAL',
    },
    files: [toTranscript(project, state, place, received, record)],
  }));
}

export function toLateAnswer({ turn }: AnswerPlace, anchor: Oid | null): TeddyError {
  return new TeddyError(
    'REF_MOVED',
    `Turn ${turn} was answered by another process meanwhile.`,
    anchor === null ? undefined : `This answer is kept: \`git cat-file -p ${anchor}\`.`,
  );
}

export function toLabelLines(text: string): { title: string; details: string[] } {
  const [title = '', ...details] = text.trim().split('\n');
  return { title, details };
}

/** Null: the turn does not wait for it any more, and nothing was kept. */
export async function appendIfAwaited(
  project: Project,
  target: Target,
  place: AnswerPlace,
  draft: (state: LineState) => Draft,
): Promise<Oid | null> {
  let isAwaited = true;
  const decide = async (tip: Oid): Promise<Draft> => {
    const state = await readLine(project.repository.store, tip);
    isAwaited = waitsFor(state, place);
    if (!isAwaited) throw toLateAnswer(place, null);
    return draft(state);
  };
  try {
    return (await appendEntry(project, target, decide)).commit;
  } catch (error) {
    if (!isAwaited) return null;
    throw error;
  }
}

/** The turn is as it was when the model was asked. In a conversation somebody may have spoken meanwhile. */
function waitsFor({ session, latest }: LineState, place: AnswerPlace): boolean {
  const isSame = session === place.session && latest?.turn === place.turn && latest.status === 'open';
  return isSame && (place.isChat === true || countSaid(latest.records) === place.recordCount);
}

/** The record has the id of the place: so it is known again when the answer is found in staging. */
function toTranscript(
  project: Project,
  state: LineState,
  { id, session, turn }: AnswerPlace,
  received: ReceivedText,
  record: Omit<Extract<TranscriptRecord, { type: 'assistant' | 'assistant_partial' }>, 'id' | 'timestamp'>,
): FileEdit {
  const timestamp = project.clock.now().toISOString();
  const notes = describeContinuations(project, received);
  const added = [...notes, { ...record, id, timestamp } as TranscriptRecord].map(encodeRecord).join('');
  const before = toText(state.latest?.transcript ?? null);
  return { path: joinPath(turnDir(session, turn), 'transcript.jsonl'), bytes: before + added };
}

/** What the transcript says of an answer that was cut and gone on with. */
export function describeContinuations(project: Project, received: ReceivedText): NoteRecord[] {
  const timestamp = project.clock.now().toISOString();
  return received.continuations.map((_, at) => ({
    type: 'note',
    id: project.ids.entryId(),
    timestamp,
    text: describeContinuation(received, at),
  }));
}

function describeContinuation({ continuations }: ReceivedText, at: number): string {
  const { at: position = 0, droppedBytes = 0 } = continuations[at] ?? {};
  const where = `Continuation ${at + 1}: the answer was cut at the model's limit after ${formatCount(position)} characters`;
  if (droppedBytes === 0) return `${where} and went on there.`;
  return `${where}; ${formatCount(droppedBytes)} bytes at the seam, an exact repetition of its last lines, were dropped.`;
}

export function toAnswerEntry(
  project: Project,
  state: LineState,
  { turn, agent, provider, model }: AnswerPlace,
  kind: 'plan' | 'reply' | 'exchange',
  usage: Usage | null,
): Entry {
  return {
    kind,
    session: state.session,
    turn,
    id: project.ids.entryId(),
    created: state.entry.created,
    title: '',
    details: [],
    agent,
    provider,
    model,
    ...(usage ? { tokens: { input: usage.input, output: usage.output } } : {}),
  };
}
