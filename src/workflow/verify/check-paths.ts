/** Checks for paths, modes and sizes that no valid commit on a line has, whoever made the commit. */
import type { RepoPath } from '../../names.ts';
import { whyHostile } from '../../session/lines/line-paths.ts';
import type { Content } from '../line/read-content.ts';
import type { Rule } from '../../session/entries/violation.ts';
import type { WalkedCommit, WalkedLine } from './walked-line.ts';

type Blame = (rule: Rule, path: RepoPath | null, message: string) => void;

export async function checkPaths(walk: WalkedLine, commit: WalkedCommit, blame: Blame): Promise<void> {
  for (const { path, mode, after } of commit.changes) {
    if (after === null) continue;
    const reason = whyHostile(path, mode);
    if (reason !== null) blame('path', path, reason);
  }
  for (const [path, awaited] of commit.contents) {
    const content = await awaited.peek();
    if (content.kind === 'large')
      blame('path', path, `The file has ${content.sizeBytes} bytes; at most ${walk.maxFileBytes} are allowed.`);
    blameMissing(walk, path, content, blame);
  }
}

/** Reports a missing object only once, although other commits may add it too. */
export function blameMissing({ missing }: WalkedLine, path: RepoPath, content: Content, blame: Blame): void {
  if (content.kind !== 'missing' || missing.has(content.oid)) return;
  missing.add(content.oid);
  blame('objects', path, content.reason);
}
