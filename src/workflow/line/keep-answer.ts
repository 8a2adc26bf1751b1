/** Adds an answer, whole or in part, to its line if the turn still waits for it. */
import type { AssistantRecord, KnownRecord, NoteRecord, PartialRecord } from '../../conversation/records/record.ts';
import { countSaid, lastMessageId } from '../../conversation/records/transcript.ts';
import type { AnswerTarget } from '../../ports/disk.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Entry } from '../../session/entries/entry.ts';
import { formatCount } from '../../session/text/format-count.ts';
import type { Oid } from '../../names.ts';
import { append, type Draft, type EntryTrailers, type Line } from './append.ts';
import { readTurnState, type LineState, type TurnState } from '../../view/view.ts';
import { describeEnd, type Received, type Usage } from './receive-answer.ts';

export type ReceivedText = Pick<Received, 'text' | 'thoughts' | 'usage' | 'continuations' | 'said'>;

/** Appends a whole answer. Returns null and keeps nothing when the turn no longer waits for it. */
export async function keepWhole(
  project: Project,
  target: Line,
  place: AnswerTarget,
  received: ReceivedText,
  { kind, ...label }: Pick<Entry, 'title' | 'details'> & { kind: 'plan' | 'reply' },
): Promise<Oid | null> {
  const { text } = received;
  const isPlan = kind === 'plan';
  const message = { role: 'assistant' as const, ...(isPlan ? { file: 'plan.md' } : { content: text }) };
  const record = { type: 'assistant' as const, message, source: isPlan ? 'plan' : 'text' };
  return appendIfAwaited(project, target, place, { isPlan }, (turn) => ({
    kind,
    label,
    trailers: toAnswerTrailers(place, received.usage),
    records: toRecords(project, place, received, { ...record, ...toReplyTo(place, turn) }),
    ...(isPlan ? { files: { 'plan.md': text } } : {}),
  }));
}

/** Appends an interrupted answer and flags it; the turn stays open. Returns null as `keepWhole` does. */
export async function keepPart(
  project: Project,
  target: Line,
  place: AnswerTarget,
  received: ReceivedText,
): Promise<Oid | null> {
  const { text } = received;
  const record = {
    type: 'assistant_partial' as const,
    message: { role: 'assistant' as const, content: text },
    source: 'text',
  };
  return appendIfAwaited(project, target, place, { isPlan: false }, () => ({
    kind: 'reply',
    label: { ...toLabelLines(text), title: 'interrupted answer' },
    trailers: { ...toAnswerTrailers(place, received.usage), status: 'PARTIAL' },
    records: toRecords(project, place, received, record),
  }));
}

export function toLabelLines(text: string): { title: string; details: string[] } {
  const [title = '', ...details] = text.trim().split('\n');
  return { title, details };
}

/** Appends the draft. Returns null and keeps nothing when the turn no longer waits for it. */
export async function appendIfAwaited(
  project: Project,
  target: Line,
  place: AnswerTarget,
  options: { isPlan: boolean },
  toDraft: (turn: TurnState) => Draft,
): Promise<Oid | null> {
  const { store } = project.repository;
  const { commit } = await append(project, target, async (state) => {
    const turn = place.isChat === true ? await findSpoken(store, state, place, options) : findAwaiting(state, place);
    return turn === null ? { leave: null } : [{ ...toDraft(turn), turn: place.turn, isAnswer: true }];
  });
  return commit;
}

/** Returns the turn if it is unchanged since the model was asked. */
function findAwaiting({ session, latest }: LineState, place: AnswerTarget): TurnState | null {
  const isSame = session === place.session && latest?.turn === place.turn && latest.status === 'open';
  return isSame && countSaid(latest.records) === place.recordCount ? latest : null;
}

/**
 * Returns a conversation's turn, which keeps its records even if somebody else has spoken since; but a turn does not
 * get a second plan.
 */
async function findSpoken(
  store: Store,
  state: LineState,
  place: AnswerTarget,
  { isPlan }: { isPlan: boolean },
): Promise<TurnState | null> {
  if (state.session !== place.session || !state.turns.includes(place.turn)) return null;
  const isLatest = state.latest?.turn === place.turn;
  if (isPlan) return isLatest && state.latest?.status === 'open' ? state.latest : null;
  return isLatest ? state.latest : readTurnState(store, state.entryOid, state.session, place.turn);
}

/** When another message has arrived meanwhile, that message is still waiting. */
function toReplyTo({ messageId }: AnswerTarget, { records }: TurnState): { reply_to?: string } {
  return messageId === undefined || lastMessageId(records) === messageId ? {} : { reply_to: messageId };
}

/** Gives the record the ID in `place`, so that teddy recognizes the record when it finds the answer in staging. */
function toRecords(
  project: Project,
  { id }: AnswerTarget,
  received: ReceivedText,
  record: Omit<AssistantRecord | PartialRecord, 'id' | 'timestamp'>,
): KnownRecord[] {
  const timestamp = project.clock.now().toISOString();
  const said = { ...record, id, timestamp, ...toTokens(received.usage) } as AssistantRecord | PartialRecord;
  return [...noteAnswer(project, received), said];
}

/**
 * Notes for the transcript: the model's thoughts, where its answer was cut and continued, and how the endpoint reported
 * an abnormal end.
 */
export function noteAnswer(project: Project, received: Omit<ReceivedText, 'text'>): NoteRecord[] {
  const timestamp = project.clock.now().toISOString();
  const thoughts = received.thoughts.trim() === '' ? [] : [`The model thought:\n\n${received.thoughts.trim()}`];
  const ends = received.said === undefined ? [] : [`The endpoint ended this answer ${describeEnd(received)}.`];
  const texts = [...thoughts, ...received.continuations.map((_, at) => describeContinuation(received, at)), ...ends];
  return texts.map((text) => ({ type: 'note', id: project.ids.entryId(), timestamp, text }));
}

/** An answer's token counts in the form of its record. */
export function toTokens(usage: Usage | null): Pick<AssistantRecord, 'tokens'> {
  if (usage === null) return {};
  const { costUsd: _costUsd, ...tokens } = usage;
  return { tokens };
}

function describeContinuation({ continuations }: Pick<ReceivedText, 'continuations'>, at: number): string {
  const { at: position = 0, droppedBytes = 0 } = continuations[at] ?? {};
  const where = `Continuation ${at + 1}: the answer was cut at the model's limit after ${formatCount(position)} characters`;
  if (droppedBytes === 0) return `${where} and went on there.`;
  return `${where}; ${formatCount(droppedBytes)} bytes at the seam, an exact repetition of its last lines, were dropped.`;
}

export function toAnswerTrailers({ agent, provider, model }: AnswerTarget, usage: Usage | null): EntryTrailers {
  return {
    agent,
    provider,
    model,
    ...toTokens(usage),
    // Omits a nonsensical amount.
    ...(usage?.costUsd !== undefined && usage.costUsd >= 0 && usage.costUsd < 1e9 ? { costUsd: usage.costUsd } : {}),
  };
}
