/** A command's note as a file has it: sealed, so that no damaged one is believed. */
import type { CommandNote } from '../ports/disk.ts';
import type { Head } from '../ports/git.ts';
import { isSessionId, isTurnName, type RepoPath } from '../names.ts';
import { seal, unseal } from '../disk/sealed-json.ts';
import { isObject } from '../session/parse-object.ts';

/** Who runs the command. */
export interface NoteProcess {
  pid: number;
  bootId: string;
}

export interface DecodedNote {
  note: CommandNote;
  process: NoteProcess;
}

export function encodeNote({ kept, ...note }: CommandNote, process: NoteProcess): string {
  const { head, scan, bytes, config } = kept;
  const files = [...bytes].map(([path, content]) => [path, toBase64(content)]);
  return JSON.stringify(
    seal({ version: 1, ...note, process, kept: { head, scan: [...scan], files, config: config && toBase64(config) } }),
  );
}

/** Null for whatever `encodeNote` has not made. */
export function decodeNote(text: string): DecodedNote | null {
  const value = unseal(text);
  // A text that was never sealed is none of ours.
  if (value === null || !text.includes('"check":') || !isNote(value)) return null;
  const { session, turn, ref, root, isLinked, startedAt, kept, process } = value;
  const { head, scan, files, config } = kept;
  const bytes = new Map(files.map(([path, content]) => [path, Buffer.from(content, 'base64')]));
  const decoded = { head, scan: new Map(scan), bytes, config: config === null ? null : Buffer.from(config, 'base64') };
  return { note: { session, turn, ref, root, isLinked, startedAt, kept: decoded }, process };
}

interface NoteFields extends Omit<CommandNote, 'kept'> {
  kept: { head: Head; scan: [RepoPath, string][]; files: [RepoPath, string][]; config: string | null };
  process: NoteProcess;
}

/** The seal says that all of it is as we wrote it; the rest, that it was this version. */
function isNote(value: Record<string, unknown>): value is Record<string, unknown> & NoteFields {
  const { session, turn, ref, root, isLinked, startedAt, process, kept } = value;
  return (
    value['version'] === 1 &&
    typeof session === 'string' &&
    isSessionId(session) &&
    typeof turn === 'string' &&
    isTurnName(turn) &&
    [ref, root, startedAt].every((text) => typeof text === 'string') &&
    typeof isLinked === 'boolean' &&
    isObject(process) &&
    isObject(kept) &&
    isObject(kept['head']) &&
    Array.isArray(kept['scan']) &&
    Array.isArray(kept['files'])
  );
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
