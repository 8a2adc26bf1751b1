/**
 * Exports a session: its directory, its history as text, its branch as a git bundle, its page, or the authors of its
 * lines. Masks secrets only in a page.
 */
import { TeddyError } from '../../errors.ts';
import type { ExportDirectory, ExportTarget } from '../../ports/disk.ts';
import type { FileBelow } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { sessionDir, type Oid, type SessionId } from '../../names.ts';
import { findLine, lineName } from '../line/find.ts';
import { findConversation } from '../line/read-conversation.ts';
import { showHistory } from './show-history.ts';
import { toShellWord } from '../../session/text/shell-word.ts';

export type ExportOptions =
  | { kind: 'dir'; place: ExportDirectory }
  | { kind: 'jsonl' | 'bundle'; place: ExportTarget }
  /** The teddy version that the page names. */
  | { kind: 'html'; place: ExportTarget; version: string }
  /** The commit whose lines to attribute, instead of the tip. */
  | { kind: 'agent-trace'; place: ExportTarget; version: string; revision: string | undefined };

export interface ExportedSession {
  session: SessionId;
  commit: Oid;
  /** The history's repairs, one sentence each. */
  repairs: string[];
  /** Only for a page: its size, and the number of turns that it shows. */
  page?: { bytes: number; turns: number };
}

/** Throws the errors of its target, UNKNOWN_SESSION, AMBIGUOUS_SESSION, DAMAGED_SESSION; in these cases creates nothing. */
export async function exportSession(
  project: Project,
  selector: string | undefined,
  options: ExportOptions,
): Promise<ExportedSession> {
  await options.place.refuse();
  if (options.kind === 'dir') return exportFiles(project, selector, options.place);
  if (options.kind === 'bundle') return exportBundle(project, selector, options.place);
  if (options.kind === 'html') return exportPage(project, selector, options);
  if (options.kind === 'agent-trace') {
    const { renderTrace } = await import('./export-trace.ts');
    const { text, ...trace } = await renderTrace(project, { selector, ...options });
    await options.place.put(toPieces(new TextEncoder().encode(text)));
    return { ...trace, repairs: [] };
  }
  return exportHistory(project, selector, options.place);
}

async function exportFiles(
  project: Project,
  selector: string | undefined,
  place: ExportDirectory,
): Promise<ExportedSession> {
  const { store } = project.repository;
  const found = await findConversation(project, { selector });
  await place.put(oneByOne(store.readFilesBelow(found.source, sessionDir(found.session), () => true)));
  return { session: found.session, commit: found.commit, repairs: [] };
}

async function exportHistory(
  project: Project,
  selector: string | undefined,
  place: ExportTarget,
): Promise<ExportedSession> {
  const { session, commit, text, repairs } = await showHistory(project, { target: selector, format: 'jsonl' });
  await place.put(toPieces(new TextEncoder().encode(text)));
  return { session, commit, repairs: repairs.map((repair) => repair.text) };
}

/** Exports the whole branch, so that the bundle needs no other commits. */
async function exportBundle(
  project: Project,
  selector: string | undefined,
  place: ExportTarget,
): Promise<ExportedSession> {
  const line = await findLine(project, selector);
  if (line.tip === null) {
    throw new TeddyError(
      'UNKNOWN_SESSION',
      `${line.session} is only on a remote, so there is no local branch to bundle.`,
      `Create it: \`git branch --track ${toShellWord(lineName(line))} <remote>/${toShellWord(lineName(line))}\`.`,
    );
  }
  await place.put(project.repository.store.bundle(line.ref));
  return { session: line.session, commit: line.tip, repairs: [] };
}

/** Exports the page as a file that works offline from disk. */
async function exportPage(
  project: Project,
  selector: string | undefined,
  { place, version }: ExportOptions & { kind: 'html' },
): Promise<ExportedSession> {
  const { makePageFile } = await import('../page/page-file.ts');
  const { page, bytes } = await makePageFile(project, selector, version);
  await place.put(toPieces(bytes));
  const { session, lines } = page.source;
  return {
    session,
    commit: lines[0]?.tip as Oid,
    repairs: [],
    page: { bytes: bytes.length, turns: page.turns.length },
  };
}

async function* toPieces(...pieces: Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* pieces;
}

async function* oneByOne(lists: AsyncIterable<FileBelow[]>): AsyncIterable<FileBelow> {
  for await (const files of lists) yield* files;
}
