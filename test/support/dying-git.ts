/** A git that kills itself and the command that started it with SIGKILL, at a certain moment of moving a ref. */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { ScratchRepository } from './scratch-repository.ts';

/** `prepared`: the refs are locked, and at their old place. `committed`: they have moved. */
export type RefMoment = 'prepared' | 'committed';

/** The environment in which a command finds this git. Its hook runs only when teddy moves a line. */
export async function makeDyingGit(repo: ScratchRepository, moment: RefMoment): Promise<Record<string, string>> {
  const place = join(repo.root, '.git/dying');
  const path = process.env['PATH'] ?? '';
  const withHook = `for a do shift; [ "$a" != core.hooksPath=/dev/null ] || a=core.hooksPath='${place}'; set -- "$@" "$a"; done`;
  const scripts = {
    git: `export STARTER=$PPID PATH='${path}'\ncase "$*" in *'update-ref -m'*) ${withHook};; esac\nexec git "$@"`,
    'reference-transaction': `[ "$1" != ${moment} ] || kill -KILL "$STARTER" "$PPID"`,
  };
  for (const [name, script] of Object.entries(scripts)) {
    await repo.write(`.git/dying/${name}`, `#!/bin/sh\n${script}\n`);
    await chmod(join(place, name), 0o755);
  }
  return { PATH: `${place}:${path}` };
}
