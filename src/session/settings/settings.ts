/** All of teddy's settings: their purpose, where they may come from, and their possible values. `teddy config` lists them. */
import { writeLimits } from './write-limits.ts';
import { presets } from './presets.ts';

export interface Setting {
  name: string;
  /** The environment variable that takes precedence, if any. */
  variable?: string;
  /** True when `.teddy/config.yaml`, which is tracked and therefore untrusted, may set it. */
  tracked?: boolean;
  /** The kind of value, or a list of all possible values. */
  takes: ValueKind | readonly string[];
  /** The values that a tracked file must not set. */
  untracked?: readonly string[];
  /**
   * True when the strictest value of all sources applies; `takes` orders the values. The tracked file on the base
   * branch counts.
   */
  strictest?: true;
  /** True when only the user's global configuration counts. */
  globalOnly?: true;
  purpose: string;
  /** The default, described for the user. */
  fallback: string;
}

export type ValueKind = 'text' | 'url' | 'count' | 'number' | 'seconds' | 'boolean' | 'trailer';

export const providers = [...presets.map(({ name }) => name), 'manual', 'recorded'] as const;

const table = [
  { name: 'provider', variable: 'TEDDY_PROVIDER', takes: providers, purpose: 'who answers', fallback: 'openai' },
  {
    name: 'model',
    variable: 'TEDDY_MODEL',
    tracked: true,
    takes: 'text',
    purpose: 'the model to ask',
    fallback: 'gpt-5 at OpenAI',
  },
  { name: 'baseUrl', variable: 'OPENAI_BASE_URL', takes: 'url', purpose: 'the endpoint', fallback: "OpenAI's own" },
  { name: 'temperature', takes: 'number', purpose: 'sent with every request', fallback: 'not sent' },
  {
    name: 'reasoning',
    takes: ['low', 'medium', 'high'],
    purpose: 'how much the model should reason, if it can',
    fallback: 'not sent',
  },
  {
    name: 'maxAnswerTokens',
    takes: 'count',
    purpose: 'the most tokens in an answer; a longer answer is continued',
    fallback: "the model's limit; 32000 at most for anthropic",
  },
  {
    name: 'stream',
    takes: 'boolean',
    purpose: 'whether answers are streamed, or requested in one piece',
    fallback: 'true',
  },
  {
    name: 'recording',
    takes: 'text',
    purpose: 'the recording that the provider `recorded` answers from',
    fallback: 'none',
  },
  {
    name: 'agent',
    variable: 'TEDDY_AGENT',
    tracked: true,
    takes: 'text',
    purpose: 'who plans the first turn',
    fallback: 'pathfinder',
  },
  {
    name: 'contextTokens',
    tracked: true,
    takes: 'count',
    purpose: 'how large a request may be',
    fallback: 'the window minus the answer',
  },
  { name: 'maxTurns', tracked: true, takes: 'count', purpose: 'the most turns in a session', fallback: 'no limit' },
  { name: 'maxTokens', tracked: true, takes: 'count', purpose: 'the most tokens in a session', fallback: 'no limit' },
  {
    name: 'snapshot',
    tracked: true,
    takes: ['tracked', 'all', 'none'],
    untracked: ['all'],
    purpose: 'which of your edits are committed before a turn',
    fallback: 'tracked',
  },
  { name: 'timeout', takes: 'seconds', purpose: 'seconds that a script may take', fallback: '120' },
  {
    name: 'readThroughProxy',
    takes: 'boolean',
    purpose: 'whether READ fetches pages through a proxy, which may reach your internal network',
    fallback: 'false',
  },
  {
    name: 'searchCommand',
    takes: 'text',
    purpose: 'the shell command that RESEARCH runs for each query',
    fallback: 'none',
  },
  {
    name: 'sign',
    takes: 'boolean',
    purpose: 'whether git signs entries with your key',
    fallback: 'false',
  },
  {
    name: 'approvals',
    tracked: true,
    takes: ['0', '1', 'others'],
    untracked: ['0'],
    strictest: true,
    purpose: 'whether a plan needs an approval, or one by somebody else, before it is executed',
    fallback: '0',
  },
  {
    name: 'agentsMayApprove',
    takes: 'boolean',
    globalOnly: true,
    purpose: 'whether a program that an AI agent started may approve plans; set it with --global',
    fallback: 'false',
  },
  {
    name: 'assistedBy',
    tracked: true,
    takes: 'trailer',
    untracked: ['false'],
    purpose: 'whether landings name the models that wrote their code, or the form of these trailers',
    fallback: 'true',
  },
  {
    name: 'assistedByHook',
    takes: 'boolean',
    purpose: 'whether the git hooks name models that contributed to your own commits',
    fallback: 'false',
  },
  {
    name: 'notes',
    tracked: true,
    takes: ['git-ai', 'off'],
    purpose: 'the authorship log that is added to a landing as a note; it says which lines models wrote',
    fallback: 'off',
  },
  {
    name: 'capture',
    takes: 'boolean',
    purpose: "whether other agents' sessions in this repository are captured; `teddy capture install` sets it",
    fallback: 'false',
  },
  {
    name: 'gate',
    takes: ['page', 'terminal', 'off'],
    purpose: "how you review a waiting agent's plan: on a page or in the terminal; off: it does not wait",
    fallback: 'page',
  },
  {
    name: 'sessionsRemote',
    takes: 'text',
    purpose: 'the name of the remote for sessions, if it differs from the one for code',
    fallback: 'as git decides',
  },
  {
    name: 'redact',
    takes: 'boolean',
    purpose: 'whether secrets are masked in what a model is shown',
    fallback: 'true',
  },
  {
    name: 'write.maxBytes',
    takes: 'count',
    purpose: 'the most bytes that a write session accepts',
    fallback: String(writeLimits.maxBytes),
  },
] as const satisfies readonly Setting[];

export type SettingName = (typeof table)[number]['name'];

export const settings: readonly (Setting & { name: SettingName })[] = table;

export function settingOf(name: SettingName): Setting & { name: SettingName } {
  const found = settings.find((setting) => setting.name === name);
  if (found === undefined) throw new Error(`There is no setting ${name}.`);
  return found;
}
