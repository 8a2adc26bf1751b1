/** Every setting of teddy's own: what it is for, where it may come from, what it may be. `teddy config` lists them. */
import { writeLimits } from './write-limits.ts';
import { presets } from './presets.ts';

export interface Setting {
  name: string;
  /** The variable of the environment that is asked first, if there is one. */
  variable?: string;
  /** `.teddy/config.yaml` may set it: it is tracked, hence untrusted. */
  tracked?: boolean;
  /** A list names every possible value. */
  takes: ValueKind | readonly string[];
  /** A tracked file cannot set these values. */
  untracked?: readonly string[];
  /** The values are in order: of all sources, the one that asks for most decides. Of the tracked file, that of the base branch counts. */
  strictest?: true;
  /** Only the user's global configuration counts. */
  globalOnly?: true;
  purpose: string;
  /** The default in words for a person. */
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
    purpose: 'how much the model is to think, where it can',
    fallback: 'not sent',
  },
  {
    name: 'maxAnswerTokens',
    takes: 'count',
    purpose: 'how long one answer may be; a longer one is gone on with',
    fallback: "the model's limit; 32000 at most for anthropic",
  },
  {
    name: 'stream',
    takes: 'boolean',
    purpose: 'answers arrive piece by piece; without it, each is asked for whole',
    fallback: 'true',
  },
  { name: 'recording', takes: 'text', purpose: 'what the provider recorded answers from', fallback: 'none' },
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
  { name: 'maxTurns', tracked: true, takes: 'count', purpose: 'turns of one session', fallback: 'no limit' },
  { name: 'maxTokens', tracked: true, takes: 'count', purpose: 'tokens of one session', fallback: 'no limit' },
  {
    name: 'snapshot',
    tracked: true,
    takes: ['tracked', 'all', 'none'],
    untracked: ['all'],
    purpose: 'what of your edits is committed before a turn',
    fallback: 'tracked',
  },
  { name: 'timeout', takes: 'seconds', purpose: 'seconds that a script may take', fallback: '120' },
  {
    name: 'readThroughProxy',
    takes: 'boolean',
    purpose: 'whether READ fetches pages through a proxy, which may lead into your network',
    fallback: 'false',
  },
  {
    name: 'searchCommand',
    takes: 'text',
    purpose: 'the shell command that RESEARCH runs once a query',
    fallback: 'none',
  },
  {
    name: 'sign',
    takes: 'boolean',
    purpose: "entries carry the user's signature, as git makes it",
    fallback: 'false',
  },
  {
    name: 'approvals',
    tracked: true,
    takes: ['0', '1', 'others'],
    untracked: ['0'],
    strictest: true,
    purpose: 'whether a plan needs an approval before it is executed, or that of somebody else',
    fallback: '0',
  },
  {
    name: 'agentsMayApprove',
    takes: 'boolean',
    globalOnly: true,
    purpose: 'whether a program that an AI agent has started may approve plans; set it with --global',
    fallback: 'false',
  },
  {
    name: 'assistedBy',
    tracked: true,
    takes: 'trailer',
    untracked: ['false'],
    purpose: 'whether landings name the models whose code they bring, or the form of these trailers',
    fallback: 'true',
  },
  {
    name: 'assistedByHook',
    takes: 'boolean',
    purpose: 'whether the git hooks name models in your own commits, where these had a part',
    fallback: 'false',
  },
  {
    name: 'notes',
    tracked: true,
    takes: ['git-ai', 'off'],
    purpose: 'the authorship log that a landing gets as a note, which says what lines models have brought',
    fallback: 'off',
  },
  {
    name: 'capture',
    takes: 'boolean',
    purpose: 'sessions of other agents in this repository become lines; `teddy capture install` sets it',
    fallback: 'false',
  },
  {
    name: 'gate',
    takes: ['page', 'terminal', 'off'],
    purpose: 'how you see the plan of an agent that waits: a page opens, or nothing; off: it does not wait',
    fallback: 'page',
  },
  {
    name: 'sessionsRemote',
    takes: 'text',
    purpose: 'the remote for sessions, where that is another one than for code; a name that git knows',
    fallback: 'as git decides',
  },
  { name: 'redact', takes: 'boolean', purpose: 'mask secrets in what a model is shown', fallback: 'true' },
  {
    name: 'write.maxBytes',
    takes: 'count',
    purpose: 'bytes that a write session accepts',
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
