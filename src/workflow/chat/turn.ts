/** One conversation message and everything that follows: answers, and tools with their results, up to a final answer. */
import { chatTools } from '../../conversation/prompts/chat-tools.ts';
import { toHistory } from '../../conversation/history/fold-history.ts';
import { toModelMessages } from '../../conversation/history/model-messages.ts';
import type { KnownRecord, TranscriptRecord } from '../../conversation/records/record.ts';
import { renderOpenai } from '../../conversation/history/render-openai.ts';
import { countSaid, toFinishedCalls } from '../../conversation/records/transcript.ts';
import { beginTool } from '../../conversation/prompts/write-tool.ts';
import { TeddyError } from '../../errors.ts';
import type { AnswerTarget } from '../../ports/disk.ts';
import type { Model, ModelMessage, ModelRequest } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { estimateTokens } from '../../session/text/tokens.ts';
import type { WriteRecord } from '../../write/write.ts';
import { keepAnswer, receiveStaged, toPlace, toRequest, type StagedReception } from '../turn/ask-model.ts';
import { beginChatTurn, refuseSpent } from '../turn/begin.ts';
import { readBudget } from '../context/build-request.ts';
import type { OpenTurn } from '../turn/open.ts';
import { findRequestFile, type ReadyLine } from '../line/prepare.ts';
import { refreshLine } from '../../view/view.ts';
import { nothingReceived, sumUsage, type Listener, type Usage } from '../line/receive-answer.ts';
import type { ChatListener, ChatOutcome, ChatOptions } from './chat.ts';
import { runCalls, type RunCalls } from './run-calls.ts';
import { newCallWatch, refuseStuck, type CallWatch } from './watch-calls.ts';
import { writingTools } from './write-file.ts';

interface Exchange {
  project: Project;
  line: ReadyLine;
  open: OpenTurn;
  model: Model;
  options: ChatOptions;
  listener: ChatListener;
  /** The records since the message. */
  records: TranscriptRecord[];
  /** The number of the turn's records with words or calls. */
  recordCount: number;
  usage: Usage | null;
  watch: CallWatch;
}

/**
 * Runs the turn. Puts the message on the line before asking the model, each batch of tools with all its results as soon
 * as it ends, and the answer when it is complete. Without a message, answers the waiting turn. Throws PLAN_PENDING,
 * EMPTY_MESSAGE, BUDGET_SPENT, UNKNOWN_AGENT, EMPTY_ANSWER, LOCKED, INTERRUPTED, the MODEL_ codes and the errors of a
 * snapshot; everything that arrived before is saved.
 */
export async function chatTurn(project: Project, options: ChatOptions, listener: ChatListener): Promise<ChatOutcome> {
  const { line, open, claim } = await beginChatTurn(project, { ...options, mode: 'chat', goesOn: goesOn(options) });
  try {
    return await answerTurn(project, line, open, options, listener);
  } finally {
    await claim.release();
  }
}

async function answerTurn(
  project: Project,
  line: ReadyLine,
  open: OpenTurn,
  options: ChatOptions,
  listener: ChatListener,
): Promise<ChatOutcome> {
  const { model } = options.choice;
  if (model === null) {
    return { kind: 'open', line, turn: open.turn, logPath: await findRequestFile(project, line, open.turn) };
  }
  const { records, recordCount } = open;
  return converse({
    project,
    line,
    open,
    model,
    options,
    listener,
    records: [...records],
    recordCount,
    usage: null,
    watch: newCallWatch(),
  });
}

async function converse(exchange: Exchange): Promise<ChatOutcome> {
  const { project, line, open, model, options, listener } = exchange;
  const { turn, info } = open;
  for (let request = 1; ; request += 1) {
    refuseAborted(options);
    listener.onAsk({ line, turn, agent: info.agent, label: model.label, request });
    const asked = await toChatRequest(exchange);
    const place = toChatPlace(exchange);
    const left = request === 1 ? options.onlyWrites?.left : undefined;
    const reception = left
      ? announceAgain(project, place, left.held.record)
      : await receiveStaged(project, line, place, model, asked, toHeard(exchange));
    if (reception.received.calls.length === 0) {
      const answered = await keepAnswer(project, line, reception);
      return {
        kind: 'answered',
        line,
        turn,
        exchanges: request - 1,
        ...answered,
        usage: sumUsage(exchange.usage, answered.usage),
      };
    }
    const { signal, onlyWrites } = options;
    const run = { project, line, listener, signal, onlyWrites, left, messages: asked.messages, watch: exchange.watch };
    const writing = { model, request: { ...asked, tools: writingTools } };
    const ran = await runCalls({ ...run, writing }, reception);
    take(exchange, ran);
    if (ran.isDenied) {
      return { kind: 'denied', line, turn, commit: ran.commit, calls: ran.calls, usage: exchange.usage };
    }
    await refuseMore(exchange);
  }
}

/**
 * Repeats the announcement of a file that an answer with a result, or somebody else, announced: the model continues as
 * if it had just made the call.
 */
function announceAgain(project: Project, place: AnswerTarget, record: WriteRecord): StagedReception {
  const { intent, target, operation } = record;
  const text = JSON.stringify({ intent, target_file: target, operation });
  const call = { id: project.ids.entryId(), name: beginTool.name, arguments: text };
  const received = { ...nothingReceived(), calls: [call] };
  return { place, received, staged: project.answers.begin(place), interruption: null };
}

/** Returns the message's request, followed by later records in the provider's own form. */
async function toChatRequest(exchange: Exchange): Promise<ModelRequest> {
  const { project, open, options } = exchange;
  const request = toRequest(project, open, options.signal);
  const messages = [...open.messages, ...(await fitFollowing(project, open, toFollowing(open, exchange.records)))];
  return {
    ...request,
    messages,
    tools: options.onlyWrites === undefined ? chatTools : writingTools,
    again: `\`${goesOn(options)}\` tries again; the message is kept.`,
  };
}

async function fitFollowing(project: Project, open: OpenTurn, following: ModelMessage[]): Promise<ModelMessage[]> {
  if (following.length === 0) return following;
  const budget = await readBudget(project, open.info);
  const taken = open.messages.reduce((sum, { content }) => sum + estimateTokens(content), 0);
  const { messages, leftOut } = fitResults(following, budget - taken);
  const what = `${leftOut} ${leftOut === 1 ? 'result' : 'results'} of tools`;
  if (leftOut > 0) project.notices.warn(`Left out to fit the budget: ${what} of turn ${open.turn}.`);
  return messages;
}

function toFollowing({ turn, message }: OpenTurn, records: TranscriptRecord[]): ModelMessage[] {
  const since = toFinishedCalls(records);
  if (since.length === 0) return [];
  const opening: KnownRecord = {
    type: 'user',
    id: 'message',
    timestamp: '',
    message: { role: 'user', content: message },
    source: 'text',
  };
  const transcript = { records: [opening, ...since], skipped: [], repaired: [] };
  return toModelMessages(renderOpenai(toHistory([{ turn, transcript }]))).slice(1);
}

function toChatPlace({ project, line, open, model, recordCount }: Exchange): AnswerTarget {
  return { ...toPlace(project, line, { ...open, recordCount }, model), isChat: true, messageId: open.messageId };
}

function toHeard(exchange: Exchange): Listener {
  const { listener, options } = exchange;
  return {
    signal: options.signal,
    onText: (text) => listener.onText(text),
    onUsage: (usage) => listener.onUsage(sumUsage(exchange.usage, usage) ?? usage),
  };
}

function take(exchange: Exchange, { records, usage }: RunCalls): void {
  exchange.records.push(...records);
  exchange.recordCount += countSaid(records);
  exchange.usage = sumUsage(exchange.usage, usage);
}

/** Throws INTERRUPTED when the message is on the line but teddy has not asked the model yet. */
function refuseAborted(options: ChatOptions): void {
  if (!options.signal.aborted) return;
  throw new TeddyError(
    'INTERRUPTED',
    'Interrupted before the model was asked; the message was saved.',
    `To ask for the answer: \`${goesOn(options)}\`.`,
  );
}

function goesOn({ onlyWrites }: ChatOptions): string {
  return onlyWrites?.goesOn ?? 'teddy resume';
}

/**
 * Refuses another request when a limit is reached. The calls and their results are separate entries, so the line has
 * moved, and others may have added to it as well.
 */
async function refuseMore({ project, line, model, options, watch }: Exchange): Promise<void> {
  refuseStuck(watch, model, goesOn(options));
  await refuseSpent(project, await refreshLine(project.repository.store, line), options);
}

/**
 * Messages without the oldest tool results, which the request omits when it would not fit the budget; results may be
 * large.
 */
export interface FittedResults {
  messages: ModelMessage[];
  /** The number of results that the request omits. */
  leftOut: number;
}

const note = '[left out to fit the budget; call again, for less of it, if it is still needed]';

/**
 * Fits results into `room`, in estimated tokens. Drops the oldest results first, each replaced with a note; calls and
 * texts stay.
 */
export function fitResults(messages: readonly ModelMessage[], room: number): FittedResults {
  let tokens = messages.reduce((sum, message) => sum + countTokens(message), 0);
  let leftOut = 0;
  const fitted = messages.map((message) => {
    const saved = message.role === 'tool' ? countTokens(message) - countTokens({ ...message, content: note }) : 0;
    if (tokens <= room || saved <= 0) return message;
    tokens -= saved;
    leftOut += 1;
    return { ...message, content: note };
  });
  return { messages: fitted, leftOut };
}

function countTokens(message: ModelMessage): number {
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  return estimateTokens([message.content, ...calls.map((call) => call.name + call.arguments)].join('\n'));
}
