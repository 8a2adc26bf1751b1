/** Reads the file in which GitHub describes the event that has started a job. */
import { TeddyError } from '../../errors.ts';
import { isOid, type Oid } from '../../names.ts';

/** A run that checked a pull request, as the forge describes it. */
export interface CheckRun {
  /** The repository, branch and commit that the run was for; the repository as `owner/name`. */
  repository: string;
  branch: string;
  head: Oid;
  /** The run's result, such as `success`; any code of the pull request may have determined it. */
  conclusion: string;
}

/**
 * Reads a `workflow_run` event. Returns null for a run that no pull request has started. Takes nothing that the run
 * itself has written. Throws USAGE.
 */
export function readCheckRun(text: string): CheckRun | null {
  const run = read(text)['workflow_run'] as Record<string, unknown> | undefined;
  if (run === undefined || run === null) throw strangeEvent('workflow_run');
  if (run['event'] !== 'pull_request') return null;
  const repository = (run['head_repository'] as Record<string, unknown> | null)?.['full_name'];
  const [branch, head, conclusion] = [run['head_branch'], run['head_sha'], run['conclusion']];
  const isNamed = typeof repository === 'string' && /^[\w.-]+\/[\w.-]+$/.test(repository);
  if (!isNamed || typeof branch !== 'string' || typeof head !== 'string' || !isOid(head))
    throw strangeEvent('workflow_run');
  return { repository, branch, head, conclusion: typeof conclusion === 'string' ? conclusion : 'no result' };
}

/** Reads a `push` event. Returns null when the push has made or deleted the branch. Throws USAGE. */
export function readPush(text: string): { base: Oid; head: Oid } | null {
  const { before, after } = read(text);
  if (typeof before !== 'string' || typeof after !== 'string' || !isOid(before) || !isOid(after))
    throw strangeEvent('push');
  return [before, after].some((oid) => /^0+$/.test(oid)) ? null : { base: before, head: after };
}

function read(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // The next line reports it.
  }
  throw new TeddyError('USAGE', 'The event file is not a JSON document.', 'Pass `--event "$GITHUB_EVENT_PATH"`.');
}

function strangeEvent(name: string): TeddyError {
  return new TeddyError(
    'USAGE',
    `The event file does not describe a \`${name}\` event.`,
    `Start the job on \`${name}\`.`,
  );
}
