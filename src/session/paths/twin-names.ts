/**
 * Twins: two names that differ only in case or Unicode form, so that no macOS or Windows file system can store both; or
 * two names that are equal once `%20` and the like are decoded, as in a link's path.
 */
import type { RepoPath } from '../../names.ts';

/**
 * Folds a name so that all its twins have the same result, even twins that only look alike: all blanks are equal, and
 * invisible characters are dropped.
 */
export function foldName(name: string): string {
  return foldCase(name.replace(/\p{Zs}/gu, ' ').replace(/\p{Default_Ignorable_Code_Point}/gu, ''));
}

/** Folds a name so that names that collide on macOS or Windows have the same result. */
function foldCase(name: string): string {
  return name.normalize('NFC').toLowerCase().normalize('NFC');
}

/** Shows the difference between lookalike names, and how to write the right one. */
function showDifference(twin: string, other: string): string {
  const [right, wrong] = [twin, other].map((name) =>
    name.replace(
      /[^\u0020-\u007E]/gu,
      (one) => `<U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}>`,
    ),
  );
  return `(${right}, not ${wrong}; in a link: /${encodeURI(twin)})`;
}

/** Describes how the name of a twin of `path`, or of a twin of a parent directory, differs. */
export function describeTwin(path: RepoPath, twin: RepoPath): string {
  const part = partLike(path, twin);
  if (twin === decodePercent(part)) return `\`${twin}\`: outside of a link, % is a character of the name`;
  if (foldName(part) !== foldName(twin)) return `\`${twin}\`, whose % is written %25 in a link`;
  if (foldCase(part) !== foldCase(twin))
    return `\`${twin}\`, whose name only looks the same ${showDifference(twin, part)}`;
  const isForm = part.normalize('NFC') === twin.normalize('NFC');
  return `\`${twin}\`, whose name differs only in ${isForm ? `its Unicode form ${showDifference(twin, part)}` : 'case'}`;
}

/** Explains why both paths cannot exist; null when they can. */
export function explainCollision(path: RepoPath, twin: RepoPath | null | undefined): string | null {
  const part = twin && partLike(path, twin);
  if (!twin || !part || foldName(part) !== foldName(twin)) return null;
  if (foldCase(part) !== foldCase(twin)) return `nobody can tell it from ${describeTwin(path, twin)}`;
  return `no clone on macOS or Windows can hold it beside ${describeTwin(path, twin)}`;
}

function partLike(path: RepoPath, twin: RepoPath): string {
  return path.split('/').slice(0, twin.split('/').length).join('/');
}

function decodePercent(name: string): string {
  return name.replace(/(?:%[\da-f]{2})+/gi, (codes) => Buffer.from(codes.replaceAll('%', ''), 'hex').toString());
}

/** Finds the twin of `path`, or of a parent directory, among names keyed by their folded form. */
export function twinAmong(names: ReadonlyMap<string, RepoPath>, path: RepoPath): RepoPath | undefined {
  return pathsTo(path)
    .map((above) => ({ above, known: names.get(foldName(above)) }))
    .find(({ above, known }) => known !== undefined && known !== above)?.known;
}

/** Finds the twin among the names in directories. `list` returns the names in a directory, and no names for anything else. */
export async function findTwin(
  path: RepoPath,
  list: (directory: string) => Promise<string[]>,
): Promise<RepoPath | null> {
  const found: string[] = [];
  for (const part of path.split('/')) {
    const names = await list(found.join('/'));
    const name = names.includes(part)
      ? part
      : (names.find((one) => foldName(one) === foldName(part)) ??
        names.find((one) => decodePercent(one) === part || one === decodePercent(part)));
    if (name === undefined) break;
    found.push(name);
  }
  const twin = found.join('/');
  return twin === '' || path === twin || path.startsWith(`${twin}/`) ? null : (twin as RepoPath);
}

/** Returns the path's parent directories, outermost first, and the path itself. */
export function pathsTo(path: RepoPath): RepoPath[] {
  return path.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/') as RepoPath);
}
