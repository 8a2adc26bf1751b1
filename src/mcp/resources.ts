/** The resources that clients can attach: the list of sessions, a session, and a turn's files; and two session prompts. */
import { ResourceTemplate, type McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { TeddyError } from '../errors.ts';
import type { Project } from '../ports/project.ts';
import { findConversation } from '../workflow/line/read-conversation.ts';
import { listSessions, sortNewest } from '../workflow/review/list-sessions.ts';
import { readRecentTurns } from '../workflow/review/recent-turns.ts';
import { frame, parseInput, seal, sessionName, toRefusal, turnName } from './tool.ts';
import { readPart } from './session-tools.ts';

/** In characters. */
const maxText = 100_000;
const maxSessions = 200;
const filesOfTurn = ['message', 'plan', 'report', 'request'] as const;

export interface ReadingOptions {
  project: Project;
  /** Runs a reading when a slot is free. */
  read<Result>(work: () => Promise<Result>): Promise<Result>;
  onDefect(error: unknown): void;
}

export function addResources(server: McpServer, { project, read, onDefect }: ReadingOptions): void {
  const answer = (uri: URL, mimeType: string, work: () => Promise<string>) =>
    orRefuse(project, onDefect, async () => {
      const text = await seal(project, await read(work));
      return { contents: [{ uri: uri.href, mimeType, text: frame(text, () => project.ids.writeId()) }] };
    });
  const sessions = { title: 'Sessions', description: 'The recorded sessions in this repository, newest first.' };
  server.registerResource('sessions', 'teddy://sessions', { ...sessions, mimeType: 'text/plain' }, (uri) =>
    answer(uri, 'text/plain', () => renderSessions(project)),
  );
  // Neither template lists its resources: other people write the titles, which do not belong in a client's list.
  const ofSession = new ResourceTemplate('teddy://session/{session}', { list: undefined });
  const history = { title: 'A session', description: 'The newest turns of a session, as recorded.' };
  server.registerResource('session', ofSession, { ...history, mimeType: 'text/markdown' }, (uri, variables) =>
    answer(uri, 'text/markdown', async () => {
      const { session } = parseInput(z.object({ session: sessionName }), decode(variables));
      return (
        await readRecentTurns(project, await findConversation(project, { selector: session }), { maxChars: maxText })
      ).text;
    }),
  );
  const ofTurn = new ResourceTemplate('teddy://session/{session}/turn/{turn}/{part}', { list: undefined });
  const part = {
    title: 'Part of a turn',
    description: 'The message, plan, report or request of a turn, as recorded.',
  };
  const wanted = z.object({ session: sessionName, turn: turnName, part: z.enum(filesOfTurn) });
  server.registerResource('turn', ofTurn, { ...part, mimeType: 'text/markdown' }, (uri, variables) =>
    answer(uri, 'text/markdown', async () => {
      const { session, turn, part: name } = parseInput(wanted, decode(variables));
      const found = await findConversation(project, { selector: session });
      const { text: whole } = await readPart(project, found, turn, name);
      return whole.length <= maxText ? whole : `${whole.slice(0, maxText)}\n[more is left out: session_show has it]`;
    }),
  );
}

const promptArguments = z.strictObject({ session: sessionName });

export function addPrompts(server: McpServer, { project, read, onDefect }: ReadingOptions): void {
  const add = (name: string, title: string, description: string, words: string) =>
    server.registerPrompt(name, { title, description, argsSchema: promptArguments }, ({ session }) =>
      orRefuse(project, onDefect, async () => {
        const found = await findConversation(project, { selector: session });
        const { text } = await read(() => readRecentTurns(project, found, { maxChars: 40_000 }));
        const recorded = frame(await seal(project, text), () => project.ids.writeId());
        return {
          messages: [{ role: 'user' as const, content: { type: 'text' as const, text: `${words}\n\n${recorded}` } }],
        };
      }),
    );
  add(
    'resume',
    'Continue a session',
    'Asks to continue the work of a recorded session.',
    'Continue the work that is recorded below. First say in a few sentences what was done, what was decided and what is ' +
      'open; then propose the next step, and wait for my approval. session_show has the details of a turn.',
  );
  add(
    'review',
    'Review a session',
    'Asks for a review of what a recorded session did.',
    'Review the work that is recorded below: was each request met, were the plans followed, what is risky, what is missing? ' +
      'Name the turns. session_show { part: "diff" } has what running a plan changed.',
  );
}

/** Decodes the variables in an address, which writes a branch's slash as `%2F`. */
function decode(variables: Record<string, string | string[]>): Record<string, string> {
  const values = Object.entries(variables).map(([name, value]) => [name, [value].flat().join(',')] as const);
  try {
    return Object.fromEntries(values.map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    throw new TeddyError(
      'USAGE',
      'The address is not a valid URI.',
      "A session's address looks like teddy://session/20260124-add-login.",
    );
  }
}

async function renderSessions(project: Project): Promise<string> {
  const all = sortNewest(await listSessions(project, { archived: true }), project.clock.now());
  const rows = all
    .slice(0, maxSessions)
    .map(({ session, state, turns, updated, title, agent }) =>
      [session, state, `${turns} turns`, updated, ...(agent === null ? [] : [agent]), title].join('  '),
    );
  const left = all.length - rows.length;
  return `${[...rows, ...(left > 0 ? [`[${left} older sessions are left out: sessions_search finds them]`] : [])].join('\n')}\n`;
}

/** Turns a refusal into a protocol error, with the code and the hint in its message. */
async function orRefuse<Result>(
  project: Project,
  onDefect: (error: unknown) => void,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw new Error((await toRefusal(project, error, onDefect)).text);
  }
}
