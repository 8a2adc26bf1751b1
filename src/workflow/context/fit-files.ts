/** Leaves files of the model's own list out of a request that has no room for them. What the user's lists name stays. */
import type { Store } from '../../ports/git.ts';
import type { ShownFile } from '../../session/context-files.ts';
import { countTokens, fileSection } from '../../session/context-log-sections.ts';
import { formatCount } from '../../session/format-count.ts';
import { renderPathWord } from '../../session/quoted-path.ts';
import type { RepoPath } from '../../names.ts';
import { countBytes } from '../../session/bytes.ts';

interface FittedFiles {
  /** All of them, in order; of those that are left out the size alone is shown. */
  files: ShownFile[];
  leftOut: ReadonlySet<string>;
  /** One sentence for each file that is left out. */
  notes: string[];
}

interface Removable {
  at: number;
  tokens: number;
  /** How many tokens the request has less without its text. */
  saved: number;
  listed: ShownFile;
}

/**
 * `tokens`: what the request has with all files. As little as possible is left out: the smallest file that makes the rest fit,
 * or the largest one where none does, and again.
 */
export async function fitFiles(
  store: Pick<Store, 'readSize'>,
  files: readonly ShownFile[],
  users: ReadonlySet<string>,
  { tokens, budget }: { tokens: number; budget: number },
): Promise<FittedFiles> {
  const fitted: ShownFile[] = [...files];
  const leftOut: Removable[] = [];
  let excess = tokens - budget;
  const removable = excess > 0 ? await listRemovable(store, files, users) : [];
  while (excess > 0 && removable.length > 0) {
    const enough = removable.findIndex(({ saved }) => saved >= excess);
    const [file] = removable.splice(enough, 1);
    if (!file) break;
    fitted[file.at] = file.listed;
    leftOut.push(file);
    excess -= file.saved;
  }
  return {
    files: fitted,
    leftOut: new Set(leftOut.map(({ listed }) => listed.path)),
    notes: leftOut.map(({ listed, tokens: size }) => {
      const path = renderPathWord(listed.path);
      return `Not shown to the model: ${path} (about ${formatCount(size)} tokens do not fit the budget of ${formatCount(budget)}).`;
    }),
  };
}

/** The smallest saving first; `splice(-1, 1)` takes the largest. */
async function listRemovable(
  store: Pick<Store, 'readSize'>,
  files: readonly ShownFile[],
  users: ReadonlySet<string>,
): Promise<Removable[]> {
  const measured = files.map(async (file, at): Promise<Removable | null> => {
    if (file.kind !== 'shown' || users.has(file.path)) return null;
    const path = file.path as RepoPath;
    const bytes = (file.source.kind === 'blob' ? await store.readSize(file.source.oid) : null) ?? countBytes(file.text);
    const listed: ShownFile = { kind: 'not-shown', path, bytes, reason: 'budget' };
    const tokens = countTokens(fileSection(file));
    return { at, tokens, saved: tokens - countTokens(fileSection(listed)), listed };
  });
  const removable = (await Promise.all(measured)).filter((file) => file !== null);
  return removable.filter(({ saved }) => saved > 0).toSorted((a, b) => a.saved - b.saved);
}
