/** Secrets that a text has and its version before has not: what was there before is not told again with each change of it. */
import type { Masker } from '../../ports/project.ts';
import type { RepoPath } from '../../names.ts';

/** What a masker is given at a time: it goes over a text several times. */
const pieceChars = 4 * 1024 * 1024;
/** Longer than any key: of two pieces one has the whole of it. */
const overlapChars = 64 * 1024;
/** Lines by which one key is told from another: the first is the same of all of them. */
const keyLines = 3;

export interface ChangedText {
  path: RepoPath;
  text: string;
  /** The version before; empty: there is none. */
  known: string;
}

/** Their kinds. */
export async function findNewSecrets(masker: Masker, { path, text, known }: ChangedText): Promise<Set<string>> {
  const kinds = new Set<string>();
  const knownLines = known === '' ? null : new Set(known.split('\n'));
  for (const piece of toPieces(withoutBeginning(text, known))) {
    const { found } = await masker.mask(piece, path);
    if (found.length === 0) continue;
    const lines = piece.split('\n');
    for (const { kind, line } of found) if (!isKnown(lines, line - 1, known, knownLines)) kinds.add(kind);
  }
  return kinds;
}

/** Of what only grows, as a transcript, what it had is not looked through again and again. */
function withoutBeginning(text: string, known: string): string {
  if (known.length <= overlapChars || !text.startsWith(known)) return text;
  return text.slice(known.lastIndexOf('\n', known.length - overlapChars) + 1);
}

function isKnown(lines: readonly string[], at: number, known: string, knownLines: Set<string> | null): boolean {
  if (knownLines === null || !knownLines.has(lines[at] ?? '')) return false;
  if (!/-----BEGIN/.test(lines[at] ?? '')) return true;
  return known.includes(lines.slice(at, at + keyLines).join('\n'));
}

/** Cut at the ends of lines. */
function* toPieces(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > pieceChars) {
    const end = Math.max(text.lastIndexOf('\n', start + pieceChars), start + pieceChars - overlapChars);
    yield text.slice(start, end);
    start = end - overlapChars;
  }
  yield text.slice(start);
}
