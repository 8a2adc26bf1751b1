/** A line's open turn: its request, either stored or newly composed. */
import { questionSource, type TranscriptRecord, type UserRecord } from '../../conversation/records/record.ts';
import {
  afterLastMessage,
  countSaid,
  isUnanswered,
  lastMessageId,
  userMessages,
} from '../../conversation/records/transcript.ts';
import { TeddyError } from '../../errors.ts';
import type { ModelMessage } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import type { RequestInfo } from '../../session/context/context-log.ts';
import { globalContextPath, memosPath } from '../../session/global/global-files.ts';
import { shortRef, type Oid, type TurnName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { append, type Draft, type FileEdit } from '../line/append.ts';
import { readStoredRequest } from '../context/build-request.ts';
import { composeRequest, type Composed, type TurnOptions } from '../context/compose-request.ts';
import { requireTrust } from '../line/foreign-texts.ts';
import { readGlobal } from '../line/global-branch.ts';
import { maskMessage } from '../line/mask-text.ts';
import type { ReadyLine } from '../line/prepare.ts';
import { requirePlan, verdictError } from '../line/pending-plan.ts';
import { awaitsVerdict, findAsked, findWaiting, toText, type LineState, type TurnState } from '../../view/view.ts';
import { takeSnapshot } from '../line/take-snapshot.ts';
import { findWayTo } from '../line/way-to-line.ts';

export interface OpenTurn {
  turn: TurnName;
  messages: ModelMessage[];
  message: string;
  info: RequestInfo;
  /** The ID of the message's record. */
  messageId: string;
  /** The records since the message: calls with their results, interrupted answers. */
  records: TranscriptRecord[];
  /**
   * The number of the turn's records with words or calls; a late answer uses this number to notice that somebody else
   * was faster.
   */
  recordCount: number;
}

/** Makes sure that the line has an open turn with a request: the stored one, or a new `message` entry. */
export async function openTurn(project: Project, line: ReadyLine, options: TurnOptions): Promise<OpenTurn> {
  const request = await maskMessage(project, options);
  const stored = await reuseStored(project, line, request);
  if (stored) return stored;
  const snapped = {
    ...line,
    state: await takeSnapshot(project, line, (request.mode === 'ask' && line.state.latest?.turn) || null),
  };
  const { value: opened } = await append(project, snapped, async (state) => {
    await refusePending(project, line, state, request);
    // A conversation includes everything said meanwhile.
    if (request.mode !== 'chat') refuseOtherTurn(line.state, state);
    const composed = await composeRequest(project, line, state, request);
    const record = toUserRecord(project, state, composed);
    const known = state.latest?.turn === composed.turn ? state.latest.records : [];
    const records = record === null ? afterLastMessage(known) : [];
    const recordCount = countSaid(known) + (record === null ? 0 : 1);
    const messageId = record?.id ?? lastMessageId(known) ?? '';
    const value = { ...composed, messages: composed.built.messages, messageId, records, recordCount };
    return { drafts: [await toMessageDraft(project, state, composed, record)], value };
  });
  // Shows the notes once, however many races were lost.
  for (const note of opened.built.notes) project.notices.warn(note);
  if (opened.built.advice !== null) project.notices.info(opened.built.advice);
  return opened;
}

export async function refusePending(
  project: Project,
  line: Pick<ReadyLine, 'ref' | 'workspace'>,
  state: LineState,
  request: Pick<TurnOptions, 'message' | 'mode'>,
): Promise<void> {
  const { repository } = project;
  const { latest } = state;
  if (request.mode === 'ask') return requireQuestion({ ref: line.ref, state }, request);
  if (latest !== null && awaitsVerdict(state)) throw verdictError('PLAN_PENDING', { ref: line.ref, turn: latest.turn });
  if (latest?.status === 'planned') {
    // When HEAD is on the line, a command uses that line by default.
    const isHere = line.workspace !== null && line.workspace === repository.workspace;
    const name = toShellWord(shortRef(line.ref));
    const option = isHere ? '' : ` -s ${name}`;
    const execute =
      line.workspace === null && repository.workspace !== null
        ? `${await findWayTo(project, line)} && teddy execute`
        : `teddy execute${option}`;
    throw new TeddyError(
      'PLAN_PENDING',
      `Turn ${latest.turn} has a plan but no report.`,
      `Run \`${execute}\` first, ask about it: \`teddy ask${option} -m "..."\`, or refuse it and say what to do instead: \`teddy plan${option} --instead -m "..."\`.`,
    );
  }
  const waiting = findWaiting({ latest });
  if (request.message !== undefined || (waiting !== null && hasMessage(waiting))) return;
  throw new TeddyError(
    'EMPTY_MESSAGE',
    waiting !== null
      ? `Turn ${waiting.turn} has no message yet.`
      : 'No turn is waiting for an answer, and there is no message.',
    'Say what you want: `teddy plan -m "..."`.',
  );
}

function requireQuestion(line: Pick<ReadyLine, 'ref' | 'state'>, { message }: Pick<TurnOptions, 'message'>): void {
  const { turn } = requirePlan(line, 'Ask without a plan: `teddy chat -m "..."`.');
  if (message !== undefined || findAsked(line.state) !== null) return;
  throw new TeddyError(
    'EMPTY_MESSAGE',
    `No question about the plan of turn ${turn} waits for an answer.`,
    'Ask one: `teddy ask -m "..."`.',
  );
}

function hasMessage(turn: TurnState): boolean {
  return userMessages(turn.records).length > 0;
}

/**
 * After a lost race, the new entries may be snapshots, memos and the user's commits; another turn is not for this
 * command to answer.
 */
function refuseOtherTurn(before: LineState, now: LineState): void {
  const same = before.latest?.turn === now.latest?.turn && before.latest?.status === now.latest?.status;
  if (same && countSaid(before.latest?.records ?? []) === countSaid(now.latest?.records ?? [])) return;
  throw new TeddyError(
    'REF_MOVED',
    'Another process took this turn in the meantime.',
    'Look at it with `teddy show`, then send your message again.',
  );
}

/**
 * Returns an open turn's stored request, to ask again exactly as before when there is nothing new to say. A manual
 * answer does not change the request.
 */
export async function reuseStored(
  project: Project,
  line: ReadyLine,
  request: TurnOptions,
): Promise<(OpenTurn & { log: string }) | null> {
  const { state } = line;
  const latest = request.mode === 'ask' ? findAsked(state) : findWaiting(state);
  if (latest === null || !hasMessage(latest)) return null;
  const stored = await readStoredRequest(project.repository.store, state, latest.turn);
  const message = userMessages(latest.records).at(-1) ?? '';
  if (stored === null || (request.message !== undefined && request.message !== message)) return null;
  if (request.agent !== undefined && request.agent !== stored.info.agent) return null;
  const { provider, name, parameters } = request.choice;
  const changesRequest = provider !== 'manual' && provider !== 'none';
  if (changesRequest && request.mode !== stored.info.mode) return null;
  // Somebody has added more since this request was made.
  if (changesRequest && stored.message !== message.replace(/\p{Surrogate}/gu, '\uFFFD')) return null;
  if (changesRequest && (provider !== stored.info.provider || name !== stored.info.model)) return null;
  // A log that somebody has pushed must not determine how much an answer may cost.
  if (changesRequest && !hasSameValues(parameters, stored.info.parameters)) return null;
  await requirePrompt(project, line, latest.turn, stored.log, request);
  return {
    turn: latest.turn,
    messages: stored.messages,
    message,
    info: stored.info,
    log: stored.log,
    messageId: lastMessageId(latest.records) ?? '',
    records: afterLastMessage(latest.records),
    recordCount: countSaid(latest.records),
  };
}

/** Checks that the stored prompt is trusted. A manual answer already exists and follows no prompt. */
async function requirePrompt(
  project: Project,
  line: ReadyLine,
  turn: TurnName,
  log: string,
  { choice, approveForeign }: TurnOptions,
): Promise<void> {
  if (choice.provider === 'manual' && choice.model !== null) return;
  const { readStoredPrompt } = await import('../context/stored-prompt.ts');
  await requireTrust(project, shortRef(line.ref), await readStoredPrompt(project, turn, log), approveForeign);
}

function hasSameValues(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

/** Returns null when the turn already contains this message: asking another model or agent does not repeat it. */
function toUserRecord(project: Project, state: LineState, { turn, message, info }: Composed): UserRecord | null {
  const known = state.latest?.turn === turn ? state.latest.records : [];
  if (isUnanswered(known, message)) return null;
  return {
    type: 'user',
    id: project.ids.entryId(),
    timestamp: project.clock.now().toISOString(),
    message: { role: 'user', content: message },
    source: info.mode === 'ask' ? questionSource : 'text',
  };
}

async function toMessageDraft(
  project: Project,
  state: LineState,
  composed: Composed,
  record: UserRecord | null,
): Promise<Draft> {
  const { turn, message, info, built } = composed;
  const [title = '', ...details] = message.trim().split('\n');
  const { agent, provider, model } = info;
  return {
    kind: 'message',
    turn,
    label: { title, details },
    trailers: { agent, provider, model },
    records: record === null ? [] : [record],
    files: built.files,
    code: { files: await readFreshCopies(project, state.tip) },
  };
}

/** Returns the copies from `teddy/global` to update, because each commit is complete in itself. */
async function readFreshCopies(project: Project, tip: Oid): Promise<FileEdit[]> {
  const { store } = project.repository;
  const global = await readGlobal(project);
  if (global === null) return [];
  const copies = [
    { path: memosPath, bytes: global.memos },
    { path: globalContextPath, bytes: global.globalContext },
  ];
  const changed = await Promise.all(
    copies.map(async ({ path, bytes }) => {
      const current = await store.readFile(tip, path);
      return current === null || toText(current.bytes) !== bytes;
    }),
  );
  return copies.filter((_, at) => changed[at]);
}
