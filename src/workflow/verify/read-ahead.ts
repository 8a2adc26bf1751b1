/** Requests the objects of commits before checking them, so that the check does not wait for git. */
import type { ChangedCommit } from '../../ports/git.ts';
import { decodeEntry, type Entry } from '../../session/entries/entry.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { isOfSession } from '../../session/lines/line-paths.ts';
import { joinPath, turnDir, type Oid, type RepoPath } from '../../names.ts';
import { toText } from '../../view/view.ts';
import type { AwaitedContent } from '../line/read-content.ts';
import type { WalkedCommit, WalkedLine } from './walked-line.ts';
import type { RenderedLog } from './verify.ts';

/** The number of commits to read ahead. */
const commitsAhead = 32;
/** The limit of changed files to read ahead, because memory is limited. */
const changesAhead = 10_000;

/** Yields each commit, whose contents are valid until the caller requests the next one. */
export async function* readAhead(
  walk: WalkedLine,
  commits: AsyncIterable<ChangedCommit>,
): AsyncGenerator<WalkedCommit, void> {
  const waiting: WalkedCommit[] = [];
  let changes = 0;
  for await (const commit of commits) {
    const entry = decodeEntry(commit.commit.message);
    const contents = awaitContents(walk, commit, entry !== null);
    const rendered = renderAhead(walk, commit, entry, contents);
    // The caller who awaits the log receives the error, as with a content.
    rendered.catch(() => undefined);
    waiting.push({ ...commit, decoded: entry, contents, rendered });
    changes += commit.changes.length;
    while (waiting.length >= commitsAhead || changes > changesAhead) {
      const next = waiting.shift();
      if (next === undefined) break;
      changes -= next.changes.length;
      yield* lend(next);
    }
  }
  for (const next of waiting) yield* lend(next);
}

function* lend(commit: WalkedCommit): Generator<WalkedCommit> {
  yield commit;
  for (const content of commit.contents.values()) content.release();
}

function awaitContents(walk: WalkedLine, { changes }: ChangedCommit, isEntry: boolean): Map<RepoPath, AwaitedContent> {
  const contents = new Map<RepoPath, AwaitedContent>();
  const known = new Map<string, AwaitedContent>();
  for (const { path, after, mode } of changes) {
    if (after === null || mode === '160000') continue;
    const isWanted = isOfSession(walk.session, path) || (isEntry && !isSessionPath(path));
    if (!isWanted && !walk.limitsAll) continue;
    // Many paths may have the same content.
    const key = `${isWanted} ${after}`;
    const content = known.get(key) ?? awaitContent(walk, after, isWanted);
    known.set(key, content);
    contents.set(path, content);
  }
  return contents;
}

/** Renders a log ahead, because rendering takes many small reads, one after the other. */
async function renderAhead(
  walk: WalkedLine,
  { oid }: ChangedCommit,
  entry: Entry | null,
  contents: WalkedCommit['contents'],
): Promise<RenderedLog | null> {
  if (entry?.kind !== 'message' || entry.turn === null || entry.session !== walk.session) return null;
  const { session, turn } = entry;
  const content = await contents.get(joinPath(turnDir(session, turn), '_context.log'))?.peek();
  if (content?.kind !== 'bytes') return null;
  return walk.logs.render({ commit: oid, session, turn, log: toText(content.bytes) });
}

function awaitContent({ contents, maxFileBytes }: WalkedLine, oid: Oid, isWanted: boolean): AwaitedContent {
  if (isWanted) return contents.await(oid, maxFileBytes);
  const measured = contents.measure(oid, maxFileBytes);
  measured.catch(() => undefined);
  return { read: () => measured, peek: () => measured, release: () => undefined };
}
