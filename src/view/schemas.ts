/**
 * The values that describe sessions, as zod schemas, for the API and the tools for agents. Commands do not use the
 * schemas, because loading zod takes longer than many commands do (25 to 31 ms).
 */
import { sessionStates } from '../session/lines/session-lines.ts';
import * as z from 'zod';
import type { Oid, SessionId, TurnName } from '../names.ts';
import { verdicts } from '../session/entries/entry.ts';
import type { CommitAuthor } from '../session/entries/logged-entry.ts';
import type { DescribedSession } from './list-sessions.ts';
import type { Verdict } from './verdicts.ts';

/** A string with its own type; it was validated when it was read. */
function text<Name extends string>(description: string): z.ZodType<Name, string> {
  return z.string().meta({ description }) as z.ZodType<unknown> as z.ZodType<Name, string>;
}

export const session = text<SessionId>("The session's id.");
export const turn = text<TurnName>('A turn, such as 02 or 02-branch-01.');
export const commit = text<Oid>('A full commit id.');
export const line = z.string().meta({
  description: "The session's branch; for an archived session, a name such as archive/20260124-add-user-auth.",
  example: 'teddy/20260124-add-user-auth',
});
export const at = z.string().meta({ description: 'When it happened, ISO 8601.' });

export const author = z
  .object({ name: z.string(), email: z.string() })
  .meta({ description: 'As recorded in the commit: anybody can write them; only a signature proves more.' });
author satisfies z.ZodType<CommitAuthor>;

const count = z.int();
const labels = z.array(z.string());

export const verdict = z.object({
  verdict: z.enum(verdicts).meta({ description: "none: a gate ended without anybody's verdict." }),
  turn,
  planSha256: z.string().meta({ description: 'The verdict applies to these bytes of the plan.' }),
  comments: z.array(
    z.object({ line: count.meta({ description: 'A line in the plan, counting from 1.' }), text: z.string() }),
  ),
  text: z.string().nullable(),
  commit,
  author,
  at,
});
verdict satisfies z.ZodType<Verdict>;

export const describedSession = z.object({
  session,
  line,
  remote: z.string().nullable().meta({ description: 'Which remote has it, when there is no local branch.' }),
  remotes: labels.meta({ description: 'In that case, all remotes that have it.' }),
  created: z.string(),
  turns: count,
  status: z.enum(['new', 'open', 'planned', 'closed']),
  last: z.string().meta({ description: 'What the last entry says.' }),
  conversationBranches: labels,
  archived: z.boolean().meta({ description: 'Its branches are gone, but everything on them is kept.' }),
  state: z.enum(sessionStates),
  committed: commit.nullable().meta({ description: "In that state: the commit with the agent's work." }),
  byNote: commit.nullable().meta({ description: 'Only a note says that it landed: the squash with its code.' }),
  beside: z
    .object({ line, has: z.enum(['plan', 'code']) })
    .nullable()
    .meta({ description: 'Another of its branches, with a plan that was not run, or with the only code.' }),
  title: z.string().meta({ description: 'The title of the last step.' }),
  updated: z.string().meta({ description: 'The time of the last entry.' }),
  agent: z.string().nullable().meta({ description: "The other agent whose session it is; null: teddy's own." }),
  model: z.string().nullable().meta({ description: "For another agent's session: the model that answered last." }),
  awaitsVerdict: z.boolean().meta({ description: 'Another agent has handed in a plan that nobody has judged.' }),
});
describedSession satisfies z.ZodType<DescribedSession>;
