/** Checks an entry's files: their sha256, that they are readable, and that they contain no secrets. */
import { TeddyError } from '../../errors.ts';
import { checkListSize } from '../../session/context/context-lines.ts';
import { parseMemos } from '../../session/global/memos.ts';
import { configPath, isSessionPath, memosPath } from '../../session/global/global-files.ts';
import { isOfSession, turnOfPath } from '../../session/lines/line-paths.ts';
import { joinPath, turnDir, type RepoPath, type Oid } from '../../names.ts';
import { toText } from '../../view/view.ts';
import { blameMissing } from './check-paths.ts';
import type { Step, WalkedLine } from './walked-line.ts';
import type { Project } from '../../ports/project.ts';
import { groupBy } from '../../session/text/group-by.ts';

const about: Partial<Record<Step['entry']['kind'], string>> = {
  message: '_context.log',
  plan: 'plan.md',
  report: 'report.md',
  approval: 'plan.md',
};

export async function checkSha256(walk: WalkedLine, step: Step): Promise<void> {
  const { entry, commit, blame } = step;
  const { kind, turn, sha256 } = entry;
  if (kind === 'write') return checkWritten(walk, step);
  const name = about[kind];
  if (name === undefined || turn === null) return;
  const path = joinPath(turnDir(walk.session, turn), name);
  if (sha256 === undefined) {
    if (commit.contents.has(path)) blame('sha256', path, "The entry does not name the file's sha256.");
    return;
  }
  const oid = walk.published.get(path);
  const content = await (commit.contents.get(path)?.read() ??
    (oid === undefined ? null : walk.contents.read(oid, walk.maxFileBytes)));
  if (content === null || content === undefined)
    return blame('sha256', path, 'The entry names the sha256 of a file that does not exist.');
  if (content.kind === 'bytes' && walk.project.hash(content.bytes) !== sha256)
    blame('sha256', path, 'Teddy-Sha256 does not match the file.');
}

/** git's filters may have changed the content when the user committed it. */
async function checkWritten(walk: WalkedLine, { entry: { sha256 }, commit, blame }: Step): Promise<void> {
  const [target] = commit.changes.filter(({ path }) => !isSessionPath(path));
  const content = target && (await commit.contents.get(target.path)?.read());
  if (target === undefined || content?.kind !== 'bytes' || sha256 === undefined) return;
  if (!(await isInstalled(walk.project, { commit: commit.oid, path: target.path, bytes: content.bytes, sha256 })))
    blame('sha256', target.path, 'Teddy-Sha256 does not match the file.');
}

/** teddy's own files are always UTF-8; the user's files may be anything. */
export async function checkEncoding({ session }: WalkedLine, { commit, blame }: Step): Promise<void> {
  for (const [path, awaited] of commit.contents) {
    if (!isOfSession(session, path)) continue;
    const content = await awaited.read();
    if (content.kind !== 'bytes') continue;
    if (turnOfPath(session, path) !== null && !isUtf8(content.bytes)) blame('schema', path, 'The file is not UTF-8.');
    const tooLong = path.endsWith('.context') ? checkListSize(toText(content.bytes)) : null;
    if (tooLong !== null) blame('schema', path, tooLong);
    const fault = path === memosPath ? whyUnreadable(content.bytes) : null;
    if (fault !== null) blame('schema', path, `The memos cannot be read: ${fault}`);
  }
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function whyUnreadable(bytes: Uint8Array): string | null {
  try {
    parseMemos(toText(bytes));
    return null;
  } catch (error) {
    if (error instanceof TeddyError) return error.message;
    throw error;
  }
}

/**
 * Searches for secrets. In a log, searches only the parts that `check-log.ts` cannot derive, because the commits' files
 * contain the rest. In a transcript, only new records count. When a fetched line has any other fault, skips its code,
 * because teddy refuses the line anyway.
 */
export async function checkSecrets(
  walk: WalkedLine,
  step: Step,
  transcriptBefore: ReadonlyMap<RepoPath, number>,
): Promise<void> {
  const isRefused = walk.limitsAll && walk.result.violations.at(-1)?.commit === step.commit.oid;
  // Reads a large content once for all of its paths.
  for (const [awaited, held] of groupBy(step.commit.contents, ([, content]) => content)) {
    const paths = held.map(([path]) => path);
    const searched = paths.filter((path) => !path.endsWith('/_context.log') && !(isRefused && !isSessionPath(path)));
    const [first] = searched;
    if (first === undefined) continue;
    const content = await awaited.read();
    blameMissing(walk, first, content, step.blame);
    if (content.kind === 'bytes') await searchBytes(walk, step, searched, content.bytes, transcriptBefore);
  }
}

async function searchBytes(
  walk: WalkedLine,
  step: Step,
  paths: readonly RepoPath[],
  bytes: Uint8Array,
  transcriptBefore: ReadonlyMap<RepoPath, number>,
): Promise<void> {
  for (const path of paths) {
    const isCode = !isSessionPath(path) || path === configPath;
    if (!isCode || !isBinary(bytes))
      await searchText(walk, step, path, toText(bytes.subarray(transcriptBefore.get(path) ?? 0)));
  }
}

/** Names the kinds of secrets found, never the secrets. `path` is null for the text of the commit itself. */
export async function searchText(
  { project, isSearched }: WalkedLine,
  { blame }: Pick<Step, 'blame'>,
  path: RepoPath | null,
  text: string,
): Promise<void> {
  if (isSearched) return;
  const place = path === null ? 'message' : 'file';
  try {
    const { found } = await project.masker.mask(text, path ?? undefined);
    const kinds = [...new Set(found.map(({ kind }) => kind))];
    if (found.length > 0)
      blame(
        'secret',
        path,
        `${found.length === 1 ? 'A secret is' : `${found.length} secrets are`} in the ${place}: ${kinds.join(', ')}.`,
      );
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code !== 'MASKING_FAILED') throw error;
    blame('secret', path, `The ${place} could not be searched for secrets.`);
  }
}

function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8 * 1024).includes(0);
}

interface Written {
  commit: Oid;
  path: RepoPath;
  bytes: Uint8Array;
  /** The sha256 of the file on disk. */
  sha256: string;
}

/**
 * Returns true if git's version of a file can come from a file on disk with this sha256, the only known fact about it.
 * Also returns true when one of the user's filters is involved, because then nobody can find out.
 */
async function isInstalled(project: Project, { commit, path, bytes, sha256 }: Written): Promise<boolean> {
  if (project.hash(bytes) === sha256) return true;
  const text = toText(bytes);
  // git stores plain line feeds when `core.autocrlf` or an attribute requires it.
  if (project.hash(text.replace(/\r?\n/g, '\r\n')) === sha256) return true;
  return isFiltered(project, commit, path);
}

/** Returns true if an attribute may send the file through a filter, as LFS does. */
async function isFiltered({ repository: { store } }: Project, commit: Oid, path: RepoPath): Promise<boolean> {
  const parts = path.split('/').slice(0, -1);
  const places = [0, ...parts.map((_, at) => at + 1)].map((depth) =>
    [...parts.slice(0, depth), '.gitattributes'].join('/'),
  );
  const found = await Promise.all(places.map((place) => store.readFile(commit, place as RepoPath)));
  return found.some(
    (file) => file !== null && /\b(?:filter|ident|working-tree-encoding|eol|text)\b/.test(toText(file.bytes)),
  );
}
