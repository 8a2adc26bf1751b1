/** Base classes and helpers for the commands that can also use a server. */
import { ContentTooLarge } from '../../../write/write-errors.ts';
import { TeddyError } from '../../../errors.ts';
import type { Clock, Notices, Project } from '../../../ports/project.ts';
import { writeLimits, type Limits } from '../../../session/settings/write-limits.ts';
import {
  option,
  sessionOption,
  TeddyCommand,
  type Terminal,
  terminalNotices,
  withInterrupt,
} from '../../teddy-command.ts';
import type { WriteRequest } from '../../../workflow/writes/begin.ts';
import { printTimeouts, workflowWrites, type WriteApi } from '../../../http/write-api.ts';

export interface Calling {
  writes: WriteApi;
  /** Null with --server outside any repository. */
  project: Project | null;
  notices: Notices;
  clock: Clock;
  limits(): Promise<Limits>;
  signal: AbortSignal;
}

export abstract class ServedCommand extends TeddyCommand {
  server = option('--server', { value: '<url>', describe: 'Ask the server at this URL, which `teddy serve` prints.' });

  /** Runs `use`. Ctrl-C interrupts reading stdin and waiting for a server, but lets short work finish. */
  protected withWrites(terminal: Terminal, use: (calling: Calling) => Promise<number>): Promise<number> {
    const { server } = this;
    return withInterrupt(terminal, 'teddy write list', (signal) =>
      server === undefined
        ? this.withProject(terminal, (project) => rewordTooLarge(use(callLocally(project, signal))))
        : // A repository contains its own server's token. With the token from the environment,
          // teddy can call any other server from anywhere.
          this.withProjectIfAny(terminal, async (project) => {
            const { connectToServer } = await import('./write-client.ts');
            const notices = terminalNotices(terminal);
            const say = (text: string) => notices.info(text);
            const writes = await connectToServer({ server, project, env: this.context.env, say, signal });
            if (project !== null) return use({ ...callLocally(project, signal), writes });
            const clock = { now: () => new Date() };
            return use({ writes, project, notices, clock, limits: async () => writeLimits, signal });
          }),
    );
  }
}

/**
 * Completes the beginning of an ID. Returns the text unchanged when it is not the beginning of an ID, or no ID begins
 * with it. Throws USAGE when several IDs begin with it.
 */
async function completeWriteId(id: string, list: () => Promise<readonly string[]>): Promise<string> {
  if (!/^[0-9a-f]{4}[0-9a-f-]{0,31}$/.test(id)) return id;
  const begun = (await list()).filter((one) => one.startsWith(id));
  if (begun.length > 1)
    throw new TeddyError(
      'USAGE',
      `${begun.length} write sessions begin with ${id}: ${begun.slice(0, 3).join(', ')}.`,
      'Use more characters of the id; `teddy write list` shows it.',
    );
  return begun[0] ?? id;
}

/** Completes an ID from the sessions on the server, or in this repository. */
export function completeKnownId({ writes }: Calling, id: string): Promise<string> {
  return completeWriteId(id, async () => (await writes.list()).map(({ session_id }) => session_id));
}

/** Completes an ID from this repository's sessions. */
export async function completeOwnId(project: Project, id: string): Promise<string> {
  return completeWriteId(id, async () => (await project.writes.list()).map((found) => found.id));
}

/** Base class of the commands that announce a file. */
export abstract class AnnounceCommand extends ServedCommand {
  target = option('--target', {
    value: '<file>',
    describe: 'The file, relative to the project root, or an absolute path.',
    required: true,
  });
  operation = option('--operation', { value: '<name>', describe: 'create, overwrite or append.', required: true });
  intent: string | undefined = option('--intent', {
    value: '<text>',
    describe: 'The purpose of the file, or of the change.',
  });
  session = sessionOption();
  ownMarker = option('--own-marker', {
    describe: 'End the content with DONE-<8 hex>, which cannot occur by chance.',
  });

  protected announce(): WriteRequest {
    const { target, operation, session, ownMarker, intent = `${operation} ${target}` } = this;
    return { target, operation, intent, session, ownMarker };
  }
}

function callLocally(project: Project, signal: AbortSignal): Calling {
  const { notices, clock } = project;
  const limits = async () => (await import('../../../workflow/writes/held.ts')).readWriteLimits(project);
  const writes = printTimeouts(workflowWrites(project, signal), project.writeLimits.idleExpiryMs);
  return { writes, project, notices, clock, limits, signal };
}

/** Rewords the error for content that is too large, for the command line. With a server, the HTTP client does this. */
async function rewordTooLarge<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ContentTooLarge)) throw error;
    const message = `Content too large (exceeds ${error.limit}). Please split into smaller files.`;
    throw new TeddyError('CONTENT_TOO_LARGE', message, error.hint, { cause: error });
  }
}
