/** The input of a validation: the arrived content, and the target at the session's beginning. */
import type { RepoPath } from '../names.ts';
import { fileKind, type FileKind } from './file-kind.ts';
import type { Finding } from './write.ts';
import type { Operation } from '../session/settings/write-limits.ts';

export interface Candidate {
  path: RepoPath;
  operation: Operation;
  kind: FileKind;
  /** The content, without a fence around it. */
  bytes: Uint8Array;
  /** The content as text, with U+FFFD in place of invalid UTF-8. */
  text: string;
  isUtf8: boolean;
  base: BaseFile | null;
}

interface BaseFile {
  bytes: Uint8Array;
  /** Decoded on the first call. */
  text(): string;
  /** Returns true if the text has this line, ignoring white space around it. */
  hasLine(line: string): boolean;
}

/** Null when the check does not apply. */
export type Verdict = Finding[] | { skipped: string } | null;

export function toCandidate(
  path: RepoPath,
  operation: Operation,
  bytes: Uint8Array,
  base: Uint8Array | null,
): Candidate {
  const isBinary = base !== null && looksBinary(base);
  return {
    path,
    operation,
    kind: isBinary ? 'binary' : fileKind(path),
    bytes,
    ...decode(bytes),
    base: base === null ? null : toBaseFile(base),
  };
}

function decode(bytes: Uint8Array): Pick<Candidate, 'text' | 'isUtf8'> {
  try {
    return { text: new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(bytes), isUtf8: true };
  } catch {
    return { text: decodeText(bytes), isUtf8: false };
  }
}

/** Decodes the bytes. A byte order mark stays, because it is part of the text. */
export function decodeText(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

export function isUtf8(bytes: Uint8Array): boolean {
  return decode(bytes).isUtf8;
}

/** Applies git's rule: a NUL among the first bytes. */
function looksBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8000).includes(0);
}

function toBaseFile(bytes: Uint8Array): BaseFile {
  let text: string | undefined;
  let lines: Set<string> | undefined;
  const read = () => (text ??= decodeText(bytes));
  return {
    bytes,
    text: read,
    hasLine(line) {
      lines ??= new Set(
        read()
          .split('\n')
          .map((each) => each.trim()),
      );
      return lines.has(line.trim());
    },
  };
}
