/** A bare repository with contents that no honest one has, made with git's own plumbing. */
import { gitText } from './git-process.ts';

export interface HostileRefs {
  /** Ref -> its fault; git itself refuses these objects. */
  bad: string[];
  /** git accepts it; listing its paths never ends. */
  bomb: string;
}

/** `honest`: an existing commit, on which all of them build. */
export function addHostileRefs(path: string, honest: string): HostileRefs {
  const run = (args: string[], input?: string) => gitText(path, args, input === undefined ? {} : { input });
  const blob = run(['hash-object', '-w', '--stdin'], 'x\n');
  const link = run(['hash-object', '-w', '--stdin'], '../../../etc/passwd');
  const tree = (row: string) => run(['mktree', '--missing'], `${row}\n`);
  const add = (name: string, treeOid: string) => {
    const commit = run(['commit-tree', '-p', honest, '-m', name, treeOid]);
    run(['update-ref', `refs/heads/teddy/20260124-${name}`, commit]);
    return `refs/heads/teddy/20260124-${name}`;
  };
  const below = tree(`100644 blob ${blob}\tconfig`);
  const bad = [
    add('dotdot', tree(`040000 tree ${below}\t..`)),
    add('dotgit', tree(`040000 tree ${below}\t.git`)),
    add('capitals', tree(`040000 tree ${below}\t.GIT`)),
    add('short-name', tree(`040000 tree ${below}\tgit~1`)),
    add('invisible', tree(`040000 tree ${below}\t.g\u200cit`)),
    add('modules', tree(`120000 blob ${link}\t.gitmodules`)),
    add('twice', tree(`100644 blob ${blob}\ta\n100644 blob ${blob}\ta`)),
  ];
  let level = tree(`100644 blob ${blob}\tf`);
  for (let depth = 0; depth < 12; depth += 1)
    level = tree(Array.from({ length: 10 }, (_, at) => `040000 tree ${level}\t${at}`).join('\n'));
  const bomb = add('bomb', level);
  run(['symbolic-ref', 'refs/heads/teddy/20260124-loop', 'refs/heads/teddy/20260124-pool']);
  run(['symbolic-ref', 'refs/heads/teddy/20260124-pool', 'refs/heads/teddy/20260124-loop']);
  return { bad, bomb };
}
