/**
 * Renders the authors of the lines in the files that a session changed, as one record of Agent Trace 0.1.0, the open
 * format of agent-trace.dev. The same commit always produces the same bytes, because the record's ID is derived from
 * its content and its time is the commit's time.
 */
import type { Oid, RepoPath, SessionId } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import { isStartOf, parseIdent } from '../../session/entries/logged-entry.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { attributeFiles, groupLines, type AttributedFiles, type Contributor } from '../blame/attribute-files.ts';
import type { AttributedRun, Author } from '../blame/attribute-lines.ts';
import { requireCommit } from '../line/find-recorded.ts';
import { findConversation } from '../line/read-conversation.ts';

export interface TraceRequest {
  selector: string | undefined;
  /** The commit with the lines to attribute, such as the one that landed the session; when undefined, the line's tip. */
  revision: string | undefined;
  /** The teddy version that the record names. */
  version: string;
}

/** Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION, UNKNOWN_COMMIT, DAMAGED_SESSION, and what `attributeFiles` throws. */
export async function renderTrace(
  project: Project,
  { selector, revision, version }: TraceRequest,
): Promise<{ session: SessionId; commit: Oid; text: string }> {
  const { store } = project.repository;
  const { session, commit: tip } = await findConversation(project, { selector });
  const commit =
    revision === undefined ? tip : await requireCommit(store, revision, '`git log --oneline` lists the commits.');
  const { paths, seconds } = await findChanged(project, session, tip);
  const changed = await project.repository.blame.followNames(paths, commit, seconds);
  const there = changed.size === 0 ? [] : (await store.listTree(commit)).filter(({ path }) => changed.has(path));
  const attributed = await attributeFiles(project, commit, there, { ownOnly: false });
  const { files, leftOut } = attributed;
  if (leftOut.length > 0)
    project.notices.warn(
      `The record leaves out these files, because they are too large or their names are not UTF-8: ${nameSome(leftOut)}.`,
    );
  if (files.length === 0)
    project.notices.info(`The record has no files, because ${session} changed no text that this commit still has.`);
  const record = {
    timestamp: parseIdent((await store.readCommit(commit)).committer).time,
    vcs: { type: 'git', revision: commit },
    tool: { name: 'teddy', version },
    files: files.map(({ path, runs }) => ({ path, conversations: toConversations(runs, attributed) })),
    metadata: { teddy: { session, tip } },
  };
  const id = toUuid(project.hash(JSON.stringify(record)));
  return { session, commit, text: `${JSON.stringify({ version: '0.1.0', id, ...record }, null, 2)}\n` };
}

/**
 * Finds the files outside `.teddy` that the line's commits changed, including the user's own commits but not merged
 * changes.
 */
async function findChanged(
  { repository: { store } }: Project,
  session: SessionId,
  tip: Oid,
): Promise<{ paths: Set<RepoPath>; seconds: number }> {
  let [before, seconds]: [Oid | null, number] = [null, 0];
  for await (const { oid, commit } of store.firstParents(tip)) {
    const isStart = isStartOf({ entry: decodeEntry(commit.message) }, session);
    // A shallow clone's history may end above the start.
    before = isStart ? (commit.parents[0] ?? null) : oid;
    seconds = (Date.parse(parseIdent(commit.committer).time) || 0) / 1000;
    if (isStart) break;
  }
  const paths = new Set<RepoPath>();
  for await (const { commit, changes } of store.walkChanges(tip, before === null ? [] : [before]))
    if (commit.parents.length < 2)
      for (const { path } of changes) if (path !== '.teddy' && !path.startsWith('.teddy/')) paths.add(path);
  return { paths, seconds };
}

/** Returns the conversations in the order of their first lines. */
function toConversations(runs: readonly AttributedRun[], { contributors }: AttributedFiles): object[] {
  const groups = groupLines(runs, (author) => JSON.stringify(describeAuthor(author, contributors)));
  return [...groups].map(([described, ranges]) => ({
    ...(JSON.parse(described) as object),
    ranges: ranges.map(([first, last]) => ({ start_line: first, end_line: last })),
  }));
}

function describeAuthor(author: Author, contributors: AttributedFiles['contributors']): object {
  const by = author.kind === 'turn' ? contributors.get(author.commit) : undefined;
  if (by === undefined) return { contributor: { type: author.kind === 'person' ? 'human' : 'unknown' } };
  const model = toModelId(by);
  return {
    url: `teddy:${encodeURIComponent(by.session)}/${by.turn}`,
    contributor: { type: 'ai', ...(model === null ? {} : { model_id: model }) },
  };
}

/** The provider names of models.dev that differ from teddy's. */
const providers: Record<string, string> = { gemini: 'google' };
const maxModelLength = 250;

/** Returns `provider/model`, or only the model when its provider is unknown. */
function toModelId({ provider, model }: Contributor): string | null {
  if (model === null) return null;
  return (provider === null ? model : `${providers[provider] ?? provider}/${model}`).slice(0, maxModelLength);
}

/** Returns a UUID of version 8, which RFC 9562 reserves for custom IDs. */
function toUuid(sha256: string): string {
  const hex = `${sha256.slice(0, 12)}8${sha256.slice(13, 16)}a${sha256.slice(17, 32)}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
