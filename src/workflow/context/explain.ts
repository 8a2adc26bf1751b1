/** Explains why the model does or does not see a path, using the list lines that match it. */
import { parseRepoPath } from '../../session/paths/paths.ts';
import type { LinePosition } from '../../session/context/context-levels.ts';
import type { ReadContext } from './read.ts';
import type { ContextRow } from './rows.ts';

type Resolved = ReadContext['resolved'];

export interface Explanation {
  path: string;
  isShown: boolean;
  /**
   * For a directory with files that list lines match: the number of files that the model sees, and the reasons why it
   * does not see the others.
   */
  below: { shown: number; tokens: number; reasons: string[] } | null;
  /** The reasons why the model does not see the path although a list line names it. */
  reasons: string[];
  /** The list lines that match it, in the order in which they apply. */
  lines: { from: string; text: string; removes: boolean }[];
}

/** `wanted` is a path in the project, or a URL. `from` describes the list line at a place. */
export function explainPath(
  wanted: string,
  about: {
    root: string | undefined;
    resolved: Resolved;
    files: readonly ContextRow[];
    from: (place: LinePosition) => string;
  },
): Explanation {
  const { root, resolved, files, from } = about;
  const parsed = parseRepoPath(wanted, root);
  const path = 'path' in parsed ? parsed.path : wanted;
  const isUncontained = 'problem' in parsed && !wanted.includes('://');
  const isShown = files.some((file) => file.path === path && file.kind === 'shown');
  const inside = isShown ? [] : findBelow(path, resolved);
  const rules = resolved.rules.filter((rule) => rule.covers(path) || inside.some(rule.covers));
  return {
    path,
    isShown,
    below: inside.length === 0 ? null : countBelow(inside, resolved, files),
    reasons: isUncontained
      ? [parsed.problem]
      : isShown
        ? []
        : findReasons(path, resolved, files, inside.length === 0 ? rules : []),
    lines: rules.map(({ place, removes }) => ({ from: from(place), text: place.text, removes })),
  };
}

/** Returns every path in this directory that a list line matches. */
function findBelow(directory: string, { files, leftOut, takenAway }: Resolved): string[] {
  const paths = [files, leftOut, takenAway].flatMap((found) => found.map(({ path }) => path));
  return [...new Set(paths)].filter((path) => path.startsWith(`${directory}/`));
}

function countBelow(
  inside: readonly string[],
  { leftOut }: Resolved,
  files: readonly ContextRow[],
): Explanation['below'] {
  const paths = new Set(inside);
  const shown = files.filter(({ path, kind }) => kind === 'shown' && paths.has(path));
  const reasons = leftOut.filter(({ path }) => paths.has(path)).map(({ reason }) => reason);
  return {
    shown: shown.length,
    tokens: shown.reduce((sum, { tokens }) => sum + tokens, 0),
    reasons: [...new Set(reasons)],
  };
}

function findReasons(
  path: string,
  { leftOut }: Pick<Resolved, 'leftOut'>,
  files: readonly ContextRow[],
  rules: Resolved['rules'],
): string[] {
  const row = files.find((file) => file.path === path);
  if (row?.kind === 'missing') return ['the project has no such file'];
  if (row?.reason === 'budget') return ["it does not fit the request's budget"];
  if (row) return [`it is ${row.reason ?? 'not text'}, and no line names this exact file`];
  const told = [...new Set(leftOut.filter((one) => one.path === path).map(({ reason }) => reason))];
  const last = rules.at(-1);
  if (told.length > 0 || last === undefined || last.removes) return told;
  return ['git tracks no such file, and an untracked file has to be named exactly'];
}
