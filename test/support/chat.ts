/** A conversation in one line of a test each, with a listener that records everything. */
import type { Model, ModelToolCall } from '../../src/ports/model.ts';
import type { Project } from '../../src/ports/project.ts';
import { chatTurn } from '../../src/workflow/chat/turn.ts';
import type { CallDecision, ChatListener, ChatOutcome, ChatOptions, ShownCall } from '../../src/workflow/chat/chat.ts';
import { scriptedModel } from './scripted-model.ts';

export interface NotedListener extends ChatListener {
  /** `ask 1`, `text ...`, `call ...`, `result ...`, in order. */
  noted: string[];
}

/** `approve`: yes or no to every question; null if no one can be asked. */
export function notedListener(
  approve: boolean | null | ((call: ShownCall) => Promise<CallDecision>) = true,
): NotedListener {
  const noted: string[] = [];
  return {
    noted,
    onAsk: ({ request }) => noted.push(`ask ${request}`),
    onText: (text) => noted.push(`text ${text}`),
    onUsage: () => undefined,
    onCall: ({ summary }) => noted.push(`call ${summary}`),
    onOutput: (stream, text) => noted.push(`${stream} ${text}`),
    onResult: ({ name }, { isError, reason }) =>
      noted.push(`result ${name} ${reason ?? (isError ? 'failed' : 'done')}`),
    approve: approve === null ? null : typeof approve === 'function' ? approve : () => Promise.resolve(approve),
    file: {
      onContent: () => undefined,
      onPrompt: () => undefined,
      onFindings: () => undefined,
      onBegun: () => undefined,
    },
  };
}

/** `model`: the model, or its only answer; null leaves the turn open. */
export function chat(
  project: Project,
  message: string | undefined,
  model: Model | string | null,
  { listener = notedListener(), ...more }: Partial<ChatOptions> & { listener?: ChatListener } = {},
): Promise<ChatOutcome> {
  const asked = typeof model === 'string' ? scriptedModel(model) : model;
  const wish: ChatOptions = {
    message,
    choice: { provider: asked ? 'recorded' : 'none', name: asked?.model ?? 'none', parameters: {}, model: asked },
    signal: new AbortController().signal,
    ...more,
  };
  return chatTurn(project, wish, listener);
}

export function toolCall(id: string, name: string, input: object | string = {}): ModelToolCall {
  return { id, name, arguments: typeof input === 'string' ? input : JSON.stringify(input) };
}

export const readme = (id: string) => toolCall(id, 'read_file', { path: 'README.md' });
export const command = (id: string, script: string) => toolCall(id, 'run_command', { command: script });
