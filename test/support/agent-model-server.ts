/**
 * A model on loopback for real agents: `@copilotkit/aimock` speaks the APIs of OpenAI, Anthropic and Gemini.
 *
 *   const server = await startAgentModel();
 *   server.script('K1', [{ says: 'I look.', runs: 'cat a.txt' }, { says: 'Done.' }]);
 *   // run an agent with a prompt that contains `K1`
 *   expect(server.requests('K1')).toHaveLength(2);
 *
 * A request's contents decide its answer: the last key in a user's message selects the script, the answers after it the step.
 * So a repeated request gets the same answer, and several agents may ask at the same time.
 */
import { LLMock, type ChatCompletionRequest, type ChatMessage } from '@copilotkit/aimock';

export interface ScriptedAnswer {
  says?: string;
  /** A command for the agent's own shell tool. */
  runs?: string;
  /** A call of any tool, whose input may only become known when the agent asks. */
  calls?: { name: string; input: object | (() => object) };
  /** A pause before each chunk of 8 characters, to interrupt the answer in its middle. */
  chunkDelayMs?: number;
}

/** About 900 characters without a repetition, which Gemini CLI would take for a loop. */
export const longText = Array.from({ length: 150 }, (_, index) => `${(index * 7919).toString(36)}n`).join(' ');

export interface AgentModel {
  /** Without a path. */
  url: string;
  script(key: string, answers: ScriptedAnswer[]): void;
  /** The requests that a key's script has answered, in order. */
  requests(key: string): SeenRequest[];
  /** Resolves when this many have arrived. */
  waitForRequests(key: string, count: number): Promise<void>;
  close(): Promise<void>;
}

export interface SeenRequest {
  tools: string[];
  messages: { role: string; text: string; calls: string[]; callId?: string }[];
}

type Shell = (command: string) => object;
const described: Shell = (command) => ({ command, description: 'Run it' });
/** The agents' names for their shell. */
const shells: Record<string, Shell> = {
  Bash: described,
  exec_command: (cmd) => ({ cmd }),
  run_shell_command: described,
  bash: described,
};

export async function startAgentModel(): Promise<AgentModel> {
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' });
  const scripts = new Map<string, ScriptedAnswer[]>();
  const seen = new Map<string, SeenRequest[]>();
  // Never matches: it adds the matching fixture, made for this one request.
  mock.addFixture({
    match: {
      predicate(request) {
        const found = findScript(request, scripts);
        if (found !== null) {
          const requests = seen.get(found.key) ?? [];
          seen.set(found.key, [...requests, toSeen(request)]);
        }
        const answer = found?.answer ?? { says: 'Nothing was asked.' };
        const { chunkDelayMs = 0 } = answer;
        const response = toResponse(answer, toolsOf(request));
        mock.addFixture({
          match: { predicate: (other) => other === request },
          chunkSize: 8,
          latency: chunkDelayMs,
          response,
        });
        return false;
      },
    },
    response: { content: '' },
  });
  await mock.start();
  const requests = (key: string) => seen.get(key) ?? [];
  return {
    url: mock.url,
    script: (key, answers) => void scripts.set(key, answers),
    requests,
    async waitForRequests(key, count) {
      const deadline = Date.now() + 60_000;
      while (requests(key).length < count) {
        if (Date.now() > deadline) throw new Error(`Waited in vain for ${count} requests of ${key}.`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    close: () => mock.stop(),
  };
}

/** A key counts only in a user's message; requests for a title or a summary come without one. */
function findScript(
  { messages }: ChatCompletionRequest,
  scripts: ReadonlyMap<string, ScriptedAnswer[]>,
): { key: string; answer: ScriptedAnswer } | null {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message?.role !== 'user') continue;
    const text = textOf(message);
    const [key] = [...scripts.keys()].filter((one) => new RegExp(`\\b${one}\\b`).test(text)).slice(-1);
    if (key === undefined) continue;
    const given = messages.slice(at).filter(({ role }, index, all) => role === 'assistant' && isFirst(all, index));
    return { key, answer: scripts.get(key)?.[given.length] ?? { says: `${key} is over.` } };
  }
  return null;
}

/** The parts of one answer may be several messages. */
function isFirst(messages: ChatMessage[], index: number): boolean {
  return messages[index - 1]?.role !== 'assistant';
}

function toResponse({ says, runs, calls }: ScriptedAnswer, tools: string[]) {
  const shell = tools.find((name) => Object.hasOwn(shells, name));
  if (runs !== undefined && shell === undefined) throw new Error(`No shell among the tools ${tools.join(', ')}.`);
  const call = runs === undefined ? calls : { name: shell ?? '', input: shells[shell ?? '']?.(runs) ?? {} };
  if (call === undefined) return { content: says ?? '' };
  const input = typeof call.input === 'function' ? call.input() : call.input;
  const toolCalls = [{ name: call.name, arguments: JSON.stringify(input) }];
  return says === undefined ? { toolCalls } : { content: says, toolCalls };
}

function toSeen(request: ChatCompletionRequest): SeenRequest {
  const messages = request.messages.map((message) => ({
    role: message.role,
    text: textOf(message),
    calls: (message.tool_calls ?? []).map((call) => `${call.function.name} ${call.function.arguments}`),
    ...(message.tool_call_id === undefined ? {} : { callId: message.tool_call_id }),
  }));
  return { tools: toolsOf(request), messages };
}

function toolsOf({ tools }: ChatCompletionRequest): string[] {
  return (tools ?? []).map((tool) => tool.function.name);
}

function textOf({ content }: ChatMessage): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('\n');
}
