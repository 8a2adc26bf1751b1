/**
 * The values that commands print about a session, as schemas; those that the API and the tools for agents also print
 * are in src/view.
 */
import { promiseVerdicts } from '../../src/plan/report/promise.ts';
import * as z from 'zod';
import { runStatuses } from '../../src/session/entries/entry-trailers.ts';
import { entryKinds, verdicts, type Entry } from '../../src/session/entries/entry.ts';
import type { LoggedEntry } from '../../src/session/entries/logged-entry.ts';
import type { Spending } from '../../src/session/spending/spending.ts';
import { at, author, commit, session, turn } from '../../src/view/schemas.ts';
import type { CutFile, TurnOutline, TurnSummary } from '../../src/view/view.ts';

const count = z.int();
const labels = z.array(z.string());

export const spending = z.object({
  answers: count,
  unreported: count,
  inputTokens: count,
  outputTokens: count,
  cachedTokens: count.exactOptional(),
  reasoningTokens: count.exactOptional(),
  costUsd: z.number().nullable(),
  estimatedUsd: z.number().exactOptional(),
});
spending satisfies z.ZodType<Spending>;

const entry = z.object({
  kind: z.enum(entryKinds),
  session,
  turn: turn.nullable(),
  id: z.string(),
  created: z.string(),
  title: z.string(),
  details: labels,
  baseBranch: z.string().exactOptional(),
  agent: z.string().exactOptional(),
  provider: z.string().exactOptional(),
  model: z.string().exactOptional(),
  tokens: z
    .object({ input: count, output: count, cached: count.exactOptional(), reasoning: count.exactOptional() })
    .exactOptional(),
  costUsd: z.number().exactOptional(),
  status: z.string().exactOptional(),
  verdict: z.enum(verdicts).exactOptional(),
  sha256: z.string().exactOptional(),
  importFormat: z.string().exactOptional(),
  foreign: z.object({ agent: z.string(), id: z.string() }).exactOptional(),
  head: z.string().exactOptional(),
  write: z.object({ id: z.string(), intent: z.string(), validation: z.string() }).exactOptional(),
});
entry satisfies z.ZodType<Entry>;

/** A commit on a line. */
export const logged = z.object({ commit, at, author, entry: entry.nullable(), subject: z.string() });
logged satisfies z.ZodType<LoggedEntry>;

export const cutFile = z.object({ file: z.string(), characters: count, command: z.string() });
cutFile satisfies z.ZodType<CutFile>;

/** The fields of a turn in every command that shows one. */
export const turnSummary = z.object({
  status: z.enum(['open', 'planned', 'closed']),
  messages: labels,
  said: z.array(
    z.object({
      title: z.string(),
      text: z.string(),
      language: z.string(),
      file: z.string().exactOptional(),
      tool: z.string().exactOptional(),
    }),
  ),
  reply: z.string().nullable(),
  replyIsPartial: z.boolean(),
  asides: z.object({ thoughts: count, notes: count }),
});
turnSummary satisfies z.ZodType<TurnSummary>;

const states = ['kept', 'beyond', 'allowed', 'missed', 'skipped', 'failed', 'aborted'] as const;

export const promise = z.object({
  verdict: z.enum(promiseVerdicts),
  isProse: z.boolean(),
  paths: z.array(z.object({ path: z.string(), state: z.enum(states), action: z.int().nullable() })),
  commands: z.array(
    z.object({
      action: z.int(),
      command: z.string(),
      state: z.enum(['ran', 'unchecked', 'skipped', 'failed', 'aborted']),
    }),
  ),
});

/** The turn as described by its commits' labels; the commits themselves are `logged`. */
export const turnLabel = z.object({
  turn,
  title: z.string(),
  planTitle: z.string().nullable(),
  isAnswered: z.boolean(),
  outcome: z.enum([...runStatuses, 'unknown']).nullable(),
  verdict: z.enum(verdicts).nullable(),
  isAgentPlan: z.boolean(),
  agent: z.string().nullable(),
  provider: z.string().nullable(),
  model: z.string().nullable(),
  models: labels,
  spent: spending,
  undoneBy: commit.nullable(),
  partlyUndoneBy: commit.nullable(),
});
turnLabel satisfies z.ZodType<Omit<TurnOutline, 'steps'>>;
