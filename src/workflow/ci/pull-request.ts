/** Finds a pull request, fetches it as data, and keeps its one comment. Runs nothing of it, and deletes nothing. */
import { TeddyError } from '../../errors.ts';
import type { Oid, RefName } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import type { Forge, ForgeComment, PullRequest } from '../../ports/web.ts';
import { withQuarantine } from '../line/quarantine.ts';

/**
 * Finds the one open pull request whose newest commit this is; null when there is none, as after a later push. Throws
 * USAGE when there are several, and as `Forge` does.
 */
export async function findPullRequest(
  forge: Forge,
  { head, from }: { head: Oid; from?: { repository: string; branch: string } },
): Promise<PullRequest | null> {
  const owner = from?.repository.split('/')[0];
  const listed = await forge.listPullRequests(from === undefined ? undefined : `${owner}:${from.branch}`);
  const found = listed.filter((one) => {
    const isFrom = from === undefined || (one.repository === from.repository && one.branch === from.branch);
    return one.isOpen && one.head === head && isFrom;
  });
  if (found.length < 2) return found[0] ?? null;
  const names = found.map(({ number }) => `#${number}`).join(', ');
  const hint = 'Nothing was written. Close all of them but one.';
  throw new TeddyError('USAGE', `Several open pull requests have the commit ${head.slice(0, 10)}: ${names}.`, hint);
}

/**
 * Fetches the pull request's commits and its base branch from the remote to the quarantine, and keeps them only while
 * `use` runs. Returns null when the pull request has moved on. Throws UNKNOWN_BRANCH, and as `Remotes.fetch` does.
 */
export function withPullRequest<Value>(
  project: Project,
  { remote, pull, signal }: { remote: string; pull: PullRequest; signal: AbortSignal },
  use: (range: { base: Oid; head: Oid }) => Promise<Value>,
): Promise<Value | null> {
  const names = [`refs/pull/${pull.number}/head`, `refs/heads/${pull.base}`] as RefName[];
  return withQuarantine(project, async (toRef) => {
    const { refs } = await project.repository.remotes.list(remote, names, { signal });
    const [head, base] = names.map((name) => refs.find(({ ref }) => ref === name)?.oid);
    if (base === undefined)
      throw new TeddyError('UNKNOWN_BRANCH', `${remote} has no branch ${pull.base}.`, 'Name another: `--remote`.');
    if (head !== pull.head) return null;
    const wanted = names.map((from, at) => ({ from, to: toRef(at) }));
    await project.repository.remotes.fetch(remote, wanted, { signal });
    // A push in the meantime would bring other commits than those of the list.
    const fetched = await Promise.all(wanted.map(({ to }) => project.repository.store.resolve(to)));
    return fetched[0] === head && fetched[1] !== null ? use({ base: fetched[1] as Oid, head }) : null;
  });
}

/** Begins every comment, so that the next run finds it. */
const mark = /^<!-- teddy ci comment ([0-9a-f]{40,64}) -->\n/;

/** Returns the comment's text with the mark for this commit. */
function markComment(head: Oid, text: string): string {
  return `<!-- teddy ci comment ${head} -->\n${text}`;
}

export interface PostedComment {
  /** `outdated`: the pull request has moved on or is closed, and nothing was written. */
  state: 'created' | 'updated' | 'unchanged' | 'outdated';
  url: string | null;
}

/**
 * Writes the pull request's comment in place of the previous one. The comment is ours if the token's owner has written
 * it and it has the mark: anybody may write the mark. A run for an older commit writes nothing. Throws as `Forge` does.
 */
export async function postComment(
  forge: Forge,
  { pull: { number }, head, text }: { pull: PullRequest; head: Oid; text: string },
): Promise<PostedComment> {
  const body = markComment(head, text);
  const name = await forge.ownName();
  const own = (await forge.listComments(number)).find((one) => isByOwner(one, name) && mark.test(one.body));
  // Read last: a run that has taken long would otherwise replace the comment on a commit that was pushed since.
  const now = await forge.readPullRequest(number);
  if (!now.isOpen || now.head !== head) return { state: 'outdated', url: own?.url ?? null };
  if (own?.body === body) return { state: 'unchanged', url: own.url };
  const written = own === undefined ? await forge.createComment(number, body) : await forge.updateComment(own.id, body);
  return { state: own === undefined ? 'created' : 'updated', url: written.url };
}

/** GitHub writes an app's name with and without `[bot]`, which no person's name may contain. */
function isByOwner({ author }: ForgeComment, name: string): boolean {
  return author === name || author === `${name}[bot]`;
}
