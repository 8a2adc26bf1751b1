/** What `git push --porcelain` says became of each ref. */
import { TeddyError } from '../errors.ts';
import type { RemoteResult } from './remote-call.ts';
import { cut } from './remote-errors.ts';

interface PushedRef {
  ref: string;
  flag: string;
  /** `[remote rejected] (pre-receive hook declined)` */
  summary: string;
}

/**
 * `moved`: a lease did not hold. `unknown`: the server did not say, or not everything; whether it has taken the refs is for its
 * listing to tell. So it is where the server refused: a connection that broke may have made curl send it all a second time.
 */
export type PushOutcome = 'done' | 'moved' | 'unknown' | { refusal: TeddyError };

/** A refusal is REMOTE_REFUSED in the server's words. */
export function readPushOutcome(label: string, result: RemoteResult, count: number): PushOutcome {
  const refs = readRows(result.stdout);
  const rejected = refs.filter(({ flag }) => flag === '!');
  if (rejected.some(({ summary }) => isMoved(summary))) return 'moved';
  const refused = rejected.filter(({ summary }) => summary.startsWith('[remote rejected]'));
  // With an atomic push all of them are rejected; those that are the reason say something else.
  const reasons = refused.filter(({ summary }) => !/atomic (?:push failed|transaction failed)/.test(summary));
  const named = reasons.length > 0 ? reasons : refused;
  if (named.length > 0) return { refusal: toRefused(label, named, result.serverSaid) };
  return result.exitCode === 0 && refs.length >= count ? 'done' : 'unknown';
}

function readRows(stdout: string): PushedRef[] {
  return stdout.split('\n').flatMap((row) => {
    const [flag = '', refspec = '', summary = ''] = row.split('\t');
    if (flag.length !== 1 || !refspec.includes(':')) return [];
    return [{ flag, ref: refspec.slice(refspec.indexOf(':') + 1), summary }];
  });
}

/** Here before anything was sent, or at the server, where somebody was faster between its listing and its lock. */
function isMoved(summary: string): boolean {
  return /stale info|fetch first|non-fast-forward|needs force|but expected|reference already exists|incorrect old value|remote ref updated since checkout/.test(
    summary,
  );
}

function toRefused(label: string, refused: readonly PushedRef[], serverSaid: readonly string[]): TeddyError {
  const [first] = refused;
  const reason = /\((.*)\)$/.exec(first?.summary ?? '')?.[1] ?? first?.summary ?? '';
  const others = refused.length === 1 ? '' : ` and ${refused.length - 1} more`;
  const words = serverSaid.length === 0 ? '' : ` It says: ${serverSaid.join(' ')}`;
  const name = first?.ref.replace(/^refs\/heads\//, '') ?? '';
  return new TeddyError(
    'REMOTE_REFUSED',
    cut(`${label} refused ${name}${others}: ${reason}.${words}`),
    'Nothing was changed there. See its rules: protected branches, hooks, quotas.',
  );
}
