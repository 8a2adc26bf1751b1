/** Untracked files: the reasons to keep a file out of a commit that nobody has reviewed. */
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { RepoPath } from '../../names.ts';
import { entryMs } from '../../session/entries/logged-entry.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { isSecretName } from '../../session/masks/secret-names.ts';
import type { LineState } from '../../view/view.ts';

export interface LeftOutFile {
  path: RepoPath;
  reason: string;
}

/** The size above which teddy does not commit a new file. */
export const maxNewFileBytes = 1024 * 1024;

/** The only reason for files in `.teddy/`. */
export const notTeddys = 'only teddy itself adds files to .teddy/';

export const anotherRepository = 'it is another repository';

/** Both git and a scan write a repository's path this way, whether it is a submodule or one unknown to git. */
export function isRepository(path: RepoPath): boolean {
  return path.endsWith('/');
}

/** The reason for each untracked file with `teddy.snapshot=tracked`. */
export const notTracked = 'git does not track it';

/** git's names are bytes; a name that is not UTF-8 can be neither written into a report nor passed back to git. */
export const notUtf8 = 'its name is not UTF-8';

export function findNameReason(path: RepoPath): string | null {
  return isSecretName(path) ? 'named like a secret' : null;
}

/**
 * Returns the reason why a path keeps its file out. A path may contain a secret just as a file may; teddy also masks a
 * path that it reports.
 */
export async function findPathReason(project: Project, path: RepoPath): Promise<string | null> {
  return findNameReason(path) ?? ((await project.masker.mask(path)).count > 0 ? 'its name contains a secret' : null);
}

/** Returns the reason why the content keeps a file out. The caller has checked the file's size. */
export async function findContentReason(project: Project, path: RepoPath, bytes: Uint8Array): Promise<string | null> {
  const text = new TextDecoder().decode(bytes);
  // A secret in UTF-16 has a NUL between its letters.
  const texts = text.includes('\0') ? [text, text.replaceAll('\0', '')] : [text];
  for (const one of texts) if ((await project.masker.mask(one, path)).count > 0) return 'it contains a secret';
  return null;
}

/** Reads the file. Returns null when it is gone. */
export async function readNewFile(workspace: Workspace, path: RepoPath): Promise<Uint8Array | 'unreadable' | null> {
  return workspace.readDisk(path).catch((error: unknown) => {
    if (error instanceof TeddyError) return 'unreadable' as const;
    throw error;
  });
}

/** The number of untracked files to check for their age; a forgotten build folder may contain any number. */
const maxAsked = 500;

/** Names each untracked file once: before the first message, all of them; later, only files created since the last entry. */
export async function findUntracked(
  workspace: Workspace,
  { turns, entry }: LineState,
  untracked: RepoPath[],
): Promise<LeftOutFile[]> {
  const asked = untracked.filter((path) => !isSessionPath(path) && !isRepository(path)).slice(0, maxAsked);
  const isFirst = turns.length === 0;
  const born = await Promise.all(asked.map((path) => (isFirst ? null : workspace.bornOnDisk(path))));
  const told = asked.filter((_, at) => isFirst || (born[at]?.getTime() ?? 0) > entryMs(entry));
  return told.map((path) => ({ path, reason: notTracked }));
}
