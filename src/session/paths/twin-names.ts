/**
 * Twins: two names that differ only in case or in their Unicode form, of which no file system of macOS or Windows can hold
 * both; or that are the same once `%20` and the like are decoded, as the path in a link is.
 */
import type { RepoPath } from '../../names.ts';

/** The same for all twins of a name, also for those that only look the same: a blank is a blank, and what cannot be seen is nothing. */
export function foldName(name: string): string {
  return foldCase(name.replace(/\p{Zs}/gu, ' ').replace(/\p{Default_Ignorable_Code_Point}/gu, ''));
}

/** The same for all names of which macOS or Windows holds one. */
function foldCase(name: string): string {
  return name.normalize('NFC').toLowerCase().normalize('NFC');
}

/** Tells names apart that look the same, and says how to write the right one. */
function tellApart(twin: string, other: string): string {
  const [right, wrong] = [twin, other].map((name) =>
    name.replace(
      /[^\u0020-\u007E]/gu,
      (one) => `<U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}>`,
    ),
  );
  return `(${right}, not ${wrong}; in a link: /${encodeURI(twin)})`;
}

/** Where the name of one is the way to a twin of `path`: the twin itself, or that of a directory above. */
export function describeTwin(path: RepoPath, twin: RepoPath): string {
  const part = partLike(path, twin);
  if (twin === decodePercent(part)) return `\`${twin}\`: outside of a link, % is a character of the name`;
  if (foldName(part) !== foldName(twin)) return `\`${twin}\`, whose % is written %25 in a link`;
  if (foldCase(part) !== foldCase(twin)) return `\`${twin}\`, whose name only looks the same ${tellApart(twin, part)}`;
  const isForm = part.normalize('NFC') === twin.normalize('NFC');
  return `\`${twin}\`, whose name differs only in ${isForm ? `its Unicode form ${tellApart(twin, part)}` : 'case'}`;
}

/** Null: both can stand there. */
export function whyNotBeside(path: RepoPath, twin: RepoPath | null | undefined): string | null {
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

/** The twin of `path`, or of a directory above it, among names by their folded form. */
export function twinAmong(names: ReadonlyMap<string, RepoPath>, path: RepoPath): RepoPath | undefined {
  return pathsTo(path)
    .map((above) => ({ above, known: names.get(foldName(above)) }))
    .find(({ above, known }) => known !== undefined && known !== above)?.known;
}

/** The same among what stands in directories. `list` gives the names in one; what is none has no names. */
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

/** A path, and the directories that it is in, the outermost first. */
export function pathsTo(path: RepoPath): RepoPath[] {
  return path.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/') as RepoPath);
}
