/** Paths, modes and sizes that no honest commit of a line has, whoever made it. */
import type { RepoPath } from '../../session/names.ts';
import { whyHostile } from '../../session/line-paths.ts';
import type { Rule } from './violation.ts';
import type { WalkedCommit, WalkedLine } from './walked-line.ts';

type Blame = (rule: Rule, path: RepoPath | null, message: string) => void;

export async function checkPaths(walk: WalkedLine, commit: WalkedCommit, blame: Blame): Promise<void> {
  for (const { path, mode, after } of commit.changes) {
    if (after === null) continue;
    const reason = whyHostile(path, mode);
    if (reason !== null) blame('path', path, reason);
  }
  for (const [path, reading] of commit.contents) {
    const content = await reading;
    if (content.kind === 'large')
      blame('path', path, `The file has ${content.sizeBytes} bytes; ${walk.maxFileBytes} are the most.`);
    if (content.kind === 'missing') blame('objects', path, content.reason);
  }
}
