/** Asks the model for an open turn, and commits what it answers: a plan, a reply, or the part that arrived. */
import { encodeRecord, type TranscriptRecord } from '../conversation/transcript.ts';
import { TeddyError } from '../errors.ts';
import { isPlan, parsePlan } from '../plan/parse.ts';
import type { Problem } from '../plan/plan.ts';
import { runVirtually } from '../plan/validate.ts';
import type { Model, ModelEvent, Project } from '../ports.ts';
import type { Entry } from '../session/entry.ts';
import { joinPath, turnDir, type Oid, type TurnName } from '../session/names.ts';
import { appendEntry, type Draft, type FileEdit } from './append-entry.ts';
import { describeAction } from './describe-action.ts';
import type { OpenTurn } from './open-turn.ts';
import type { ReadyLine } from './prepare-line.ts';
import { readLine, toText, type LineState } from './read-line.ts';

export interface Answered {
  commit: Oid;
  entry: 'plan' | 'reply';
  text: string;
  usage: { input: number; output: number } | null;
  /** Of a plan: what `execute` would refuse. */
  problems: Problem[];
  notes: Problem[];
  actions: number;
}

/** Who hears the answer as it comes, and may stop it. */
export interface Listener {
  signal: AbortSignal;
  onText(text: string): void;
}

interface Received {
  text: string;
  usage: { input: number; output: number } | null;
  finish: Extract<ModelEvent, { type: 'finish' }>['reason'] | null;
}

/** Throws EMPTY_ANSWER and the MODEL_ codes; what had arrived by then is on the line, flagged as partial. */
export async function askModel(
  project: Project,
  line: ReadyLine,
  open: OpenTurn,
  model: Model,
  listener: Listener,
): Promise<Answered> {
  const received: Received = { text: '', usage: null, finish: null };
  try {
    await receive(project, open, model, listener, received);
  } catch (error) {
    await keepPartial(project, line, open, model, received);
    throw error;
  }
  if (received.text.trim() === '') {
    throw new TeddyError(
      'EMPTY_ANSWER',
      `${model.label} gave an empty answer.`,
      '`teddy session plan` without -m tries again; the message is kept.',
    );
  }
  if (received.finish === 'length') {
    await keepPartial(project, line, open, model, received);
    throw new TeddyError(
      'MODEL_INTERRUPTED',
      `The answer was cut at the limit of ${model.label}; what arrived is kept.`,
      'Raise the limit of the model, or ask for less at once; `teddy session plan` without -m tries again.',
    );
  }
  return keepAnswer(project, line, open, model, received);
}

async function receive(
  project: Project,
  open: OpenTurn,
  model: Model,
  listener: Listener,
  received: Received,
): Promise<void> {
  const { session, parameters } = open.info;
  const asked = {
    messages: open.messages,
    parameters,
    session,
    turn: open.turn,
    messageSha256: project.hash(open.message),
    signal: listener.signal,
  };
  for await (const event of model.answer(asked)) {
    if (event.type === 'text') {
      received.text += event.text;
      listener.onText(event.text);
    } else if (event.type === 'usage') {
      received.usage = { input: event.inputTokens, output: event.outputTokens };
    } else {
      received.finish = event.reason;
    }
  }
}

async function keepAnswer(
  project: Project,
  line: ReadyLine,
  open: OpenTurn,
  model: Model,
  received: Received,
): Promise<Answered> {
  const { text, usage } = received;
  const planned = isPlan(text);
  const parsed = planned ? parsePlan(text, line.workspace ? { projectRoot: line.workspace.root } : {}) : null;
  const record = {
    type: 'assistant' as const,
    ...stamp(project),
    message: planned ? { role: 'assistant' as const, file: 'plan.md' } : { role: 'assistant' as const, content: text },
    source: planned ? 'plan' : 'text',
  };
  const plan: FileEdit[] = planned
    ? [{ path: joinPath(turnDir(line.session, open.turn), 'plan.md'), bytes: text }]
    : [];
  const label = parsed
    ? {
        title: parsed.plan.title,
        details: parsed.plan.actions.map((action) => `${action.index}. ${describeAction(action)}`),
      }
    : toLabelLines(text);
  const commit = await appendAnswer(project, line, open, text, (state) => ({
    entry: {
      ...toAnswerEntry(project, state, open, model, planned ? 'plan' : 'reply', received),
      ...label,
      ...(planned ? { sha256: project.hash(text) } : {}),
    },
    files: [...plan, toTranscript(state, open.turn, record)],
  }));
  const virtual =
    parsed && line.workspace ? await runVirtually(parsed, project.filesOf(line.workspace.root).inspect) : null;
  return {
    commit,
    entry: planned ? 'plan' : 'reply',
    text,
    usage,
    problems: virtual?.problems ?? parsed?.problems ?? [],
    notes: parsed?.notes ?? [],
    actions: parsed?.plan.actions.length ?? 0,
  };
}

/** An interrupted answer stays on the line; the turn stays open. */
async function keepPartial(
  project: Project,
  line: ReadyLine,
  open: OpenTurn,
  model: Model,
  received: Received,
): Promise<void> {
  const { text } = received;
  if (text === '') return;
  const record = {
    type: 'assistant_partial' as const,
    ...stamp(project),
    message: { role: 'assistant' as const, content: text },
    source: 'text',
  };
  await appendAnswer(project, line, open, text, (state) => ({
    entry: {
      ...toAnswerEntry(project, state, open, model, 'reply', received),
      ...toLabelLines(text),
      title: 'interrupted answer',
      status: 'PARTIAL',
    },
    files: [toTranscript(state, open.turn, record)],
  }));
  project.notices.warn(
    `The answer was interrupted; what arrived (${text.length} characters) is kept in turn ${open.turn}.`,
  );
}

/** The turn must still wait for this answer. If it does not, the answer is kept as a blob that the error names. */
async function appendAnswer(
  project: Project,
  line: ReadyLine,
  open: OpenTurn,
  text: string,
  draft: (state: LineState) => Draft,
): Promise<Oid> {
  const { store } = project.repository;
  const appended = await appendEntry(project, line, async (tip) => {
    const state = await readLine(store, tip);
    const { latest } = state;
    const waits = latest?.turn === open.turn && latest.status === 'open' && latest.records.length === open.recordCount;
    if (!waits) throw await toLateAnswer(project, open.turn, text);
    return draft(state);
  });
  return appended.commit;
}

async function toLateAnswer(project: Project, turn: TurnName, text: string): Promise<TeddyError> {
  const batch = project.repository.store.batch();
  const oid = await batch.blob(text);
  await batch.flush();
  return new TeddyError(
    'REF_MOVED',
    `Turn ${turn} was answered by another process meanwhile.`,
    `This answer is kept: \`git cat-file -p ${oid}\`.`,
  );
}

function stamp(project: Project): { id: string; timestamp: string } {
  return { id: project.ids.entryId(), timestamp: project.clock.now().toISOString() };
}

function toTranscript(state: LineState, turn: TurnName, record: TranscriptRecord): FileEdit {
  const before = toText(state.latest?.transcript ?? null);
  return { path: joinPath(turnDir(state.session, turn), 'transcript.jsonl'), bytes: before + encodeRecord(record) };
}

function toLabelLines(text: string): { title: string; details: string[] } {
  const [title = '', ...details] = text.trim().split('\n');
  return { title, details };
}

function toAnswerEntry(
  project: Project,
  state: LineState,
  open: OpenTurn,
  model: Model,
  kind: 'plan' | 'reply',
  received: Received,
): Entry {
  return {
    kind,
    session: state.session,
    turn: open.turn,
    id: project.ids.entryId(),
    created: state.entry.created,
    title: '',
    details: [],
    agent: open.info.agent,
    provider: model.provider,
    model: model.model,
    ...(received.usage ? { tokens: received.usage } : {}),
  };
}
