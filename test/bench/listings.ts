/** Many sessions in one repository: lists, costs and pushes, as whole processes. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeManySessions, nameSession } from './many-sessions.ts';
import { comparePairs, runProcess, type Row } from './measure.ts';
import { executable, git, keepForRemoval, measureProcess } from './repositories.ts';

type Env = NodeJS.ProcessEnv;
type Run = (...args: string[]) => void;

const node = process.execPath;

export async function measureListings(env: Env, runs: number, counts: readonly number[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const count of counts) {
    const root = await makeManySessions(env, count);
    const teddy: Run = (...args) => runProcess(node, [executable, ...args], root, env);
    const of = `${count.toLocaleString('en')} sessions`;
    rows.push(...(await measureLists(env, runs, root, { teddy, of, count })));
    if (count <= 1000) continue;
    rows.push(...measureMemory(env, root, of), ...(await measureRemote(env, Math.min(runs, 5), { root, of, count })));
  }
  return rows;
}

interface Measured {
  teddy: Run;
  /** `10,000 sessions` */
  of: string;
  count: number;
}

async function measureLists(env: Env, runs: number, root: string, { teddy, of, count }: Measured): Promise<Row[]> {
  const version = () => teddy('--version');
  const warm = await comparePairs(runs, () => teddy('list', '--all'), version);
  const newest = await comparePairs(runs, () => teddy('list', '--limit', '50'), version);
  const cold = await comparePairs(
    Math.min(runs, 5),
    () => (forget(root), teddy('list', '--all')),
    () => {
      runProcess(node, ['-e', '0'], root, env);
      runProcess('git', ['for-each-ref', '--format=%(refname) %(objectname) %(contents)'], root, env);
    },
  );
  const toVersion = (what: string, times: typeof warm): Row => ({
    what,
    against: 'teddy --version',
    oursMs: times.ours,
    againstMs: times.against,
    figure: times.ratio,
    unit: 'x',
    aim: 4,
  });
  const whole = `list of ${of}`;
  return [
    count <= 1000 ? toVersion(whole, warm) : toTime(whole, warm.ours, count <= 10_000 ? 500 : 1500),
    toVersion(`list of ${of}, the newest 50`, newest),
    {
      ...toVersion(`list of ${of}, without its cache`, cold),
      against: 'node -e 0, git for-each-ref with contents',
      aim: 2,
    },
  ];
}

function measureMemory(env: Env, root: string, of: string): Row[] {
  const toRow = (what: string, { ms, peakMb }: { ms: number; peakMb: number }): Row => ({
    what: `${what}, ${of}: peak memory`,
    against: '',
    oursMs: ms,
    againstMs: null,
    figure: peakMb,
    unit: 'MB',
    aim: 120,
  });
  forget(root);
  return [
    toRow('list without its cache', measureProcess(root, env, ['list', '--all'])),
    toRow('list', measureProcess(root, env, ['list', '--all'])),
  ];
}

async function measureRemote(
  env: Env,
  runs: number,
  { root, of, count }: { root: string; of: string; count: number },
): Promise<Row[]> {
  const remote = `${root}-remote.git`;
  keepForRemoval(remote);
  git(root, env, ['clone', '-q', '--mirror', root, remote]);
  git(root, env, ['remote', 'add', 'origin', remote]);
  git(root, env, ['fetch', '-q', 'origin']);
  git(root, env, ['pack-refs', '--all']);
  const session = nameSession(count - 1);
  const [ref, tracking] = [`refs/heads/teddy/${session}`, `refs/remotes/origin/teddy/${session}`];
  const before = git(root, env, ['rev-parse', `${ref}~1`]);
  // Only its last entry is pushed.
  const back = () => {
    git(remote, env, ['update-ref', ref, before]);
    git(root, env, ['update-ref', tracking, before]);
  };
  const teddy = (...args: string[]) => runProcess(node, [executable, 'session', ...args], root, env);
  const push = await comparePairs(
    runs,
    () => teddy('push', '-s', session),
    () => runProcess('git', ['push', '-q', 'origin', ref], root, env),
    back,
  );
  const refspec = ['refs/heads/teddy/*:refs/remotes/origin/teddy/*'];
  const sync = await comparePairs(
    runs,
    () => teddy('sync'),
    () => {
      runProcess('git', ['fetch', '-q', 'origin', ...refspec], root, env);
      runProcess('git', ['push', '-q', '--dry-run', 'origin', 'refs/heads/teddy/*:refs/heads/teddy/*'], root, env);
    },
  );
  const toRow = (what: string, against: string, times: typeof push): Row => ({
    what,
    against,
    oursMs: times.ours,
    againstMs: times.against,
    figure: times.ratio,
    unit: 'x',
    aim: 1.5,
  });
  return [
    toRow(`teddy push of one session, to a remote with ${of}`, 'git push of its branch', push),
    toRow(`teddy sync of ${of}, nothing new`, 'git fetch, git push --dry-run', sync),
  ];
}

function forget(root: string): void {
  rmSync(join(root, '.git/teddy/cache'), { recursive: true, force: true });
}

function toTime(what: string, ms: number, aim: number): Row {
  return { what, against: '', oursMs: ms, againstMs: null, figure: ms, unit: 'ms', aim };
}
