/**
 * The messages in the conversations with faults: each process sends a different one, so that duplicates are noticed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Model, ModelEvent, ModelMessage, ModelToolCall } from '../../src/ports/model.ts';
import type { Project } from '../../src/ports/project.ts';
import type { ChatListener, ChatOutcome } from '../../src/workflow/chat/chat.ts';
import { chatTurn } from '../../src/workflow/chat/turn.ts';

/** `chat`: tools of all kinds. `chat-write`: the model writes a file. */
export type ChatSceneName = 'chat' | 'chat-write';

export const message = 'Look around, and note that you were here.';
export const logPath = 'src/log.txt';
export const writtenPath = 'src/written.txt';

/** Long enough to be saved while they arrive. */
export function textsOf(name: string): { first: string; last: string } {
  return { first: lines(`${name} looks around`, 100), last: lines(`${name} has seen`, 160) };
}

/** The model writes this into a file. */
export function writtenTextOf(name: string): string {
  return lines(`content of ${name}`, 60);
}

/** The call by the process that writes to the log. */
export function commandIdOf(name: string): string {
  return `${name}-run-command`;
}

function lines(text: string, count: number): string {
  return Array.from({ length: count }, (_, at) => `${text}, ${at + 1}.\n`).join('');
}

export interface Script {
  scene: ChatSceneName;
  /** The process's name. */
  name: string;
  /** Between two pieces of an answer. */
  pieceMs: number;
  onAsked?: (callIds: string[]) => void;
}

/** The answer depends only on the request, whichever process asks, so another one can continue. */
export function scriptedModel(script: Script): Model {
  return {
    provider: 'recorded',
    model: 'scripted',
    label: 'a scripted model',
    answer: ({ messages }) => answer(script, messages),
  };
}

async function* answer(script: Script, messages: readonly ModelMessage[]): AsyncGenerator<ModelEvent> {
  const { name, scene, onAsked } = script;
  const isContent = messages.at(-1)?.content.includes('"stage":"awaiting_content"') === true;
  if (isContent) return yield* say(script, `${writtenTextOf(name)}DONE\n`, []);
  onAsked?.(messages.flatMap((one) => (one.role === 'tool' ? [one.toolCallId] : [])));
  const batches = scene === 'chat' ? chatBatches(name) : writeBatches(name);
  const batch = batches[messages.filter((one) => one.role === 'assistant' && one.toolCalls !== undefined).length];
  if (batch === undefined) return yield* say(script, textsOf(name).last, []);
  yield* say(script, batch.text, batch.calls);
}

async function* say({ pieceMs }: Script, text: string, calls: ModelToolCall[]): AsyncGenerator<ModelEvent> {
  for (const piece of text.match(/.{1,40}/gsu) ?? []) {
    yield { type: 'text', text: piece };
    if (pieceMs > 0) await sleep(pieceMs);
  }
  for (const call of calls) yield { type: 'tool_call', ...call };
  yield { type: 'finish', reason: calls.length > 0 ? 'tool_calls' : 'stop' };
}

interface Answered {
  text: string;
  calls: ModelToolCall[];
}

function chatBatches(name: string): Answered[] {
  const command = `sleep 0.05; echo ${name} >> ${logPath}`;
  return [
    {
      text: textsOf(name).first,
      calls: [
        { id: `${name}-read-1`, name: 'read_file', arguments: '{"path":"src/kept.txt"}' },
        { id: commandIdOf(name), name: 'run_command', arguments: JSON.stringify({ command }) },
        { id: `${name}-list`, name: 'list_files', arguments: '{}' },
      ],
    },
    { text: '', calls: [{ id: `${name}-read-2`, name: 'read_file', arguments: '{"path":"README.md"}' }] },
  ];
}

function writeBatches(name: string): Answered[] {
  const wish = { intent: 'faults are tested', target_file: writtenPath, operation: 'create' };
  const call = { id: `${name}-write`, name: 'WritePlanTool_begin', arguments: JSON.stringify(wish) };
  return [{ text: textsOf(name).first, calls: [call] }];
}

/** One message and all its consequences; every tool is approved. Without `said` the waiting turn is answered. */
export function converse(
  project: Project,
  script: Script,
  said: string | undefined,
  onResult: ChatListener['onResult'],
): Promise<ChatOutcome> {
  const model = scriptedModel(script);
  const choice = { provider: 'recorded' as const, name: 'scripted', parameters: {}, model };
  const { signal } = new AbortController();
  return chatTurn(project, { message: said, choice, signal }, { ...silent, onResult });
}

const ignore = (): void => undefined;
const silent: ChatListener = {
  onAsk: ignore,
  onText: ignore,
  onUsage: ignore,
  onCall: ignore,
  onOutput: ignore,
  onResult: ignore,
  approve: () => Promise.resolve(true),
  file: { onBegun: ignore, onContent: ignore, onPrompt: ignore, onFindings: ignore },
};
