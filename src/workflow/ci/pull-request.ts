/** Reads the event that started a job, finds its pull request, fetches it as data, and keeps its one comment. Runs nothing of it. */
import { TeddyError } from '../../errors.ts';
import { type Oid, type RefName, isOid } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import type { Forge, ForgeComment, PullRequest } from '../../ports/web.ts';
import { field, isObject, parseObject } from '../../session/text/parse-object.ts';
import { withQuarantine } from '../line/quarantine.ts';

/**
 * Finds the one open pull request whose newest commit this is; null when there is none, as after a later push. Throws
 * USAGE when there are several, and as `Forge` does.
 */
export async function findPullRequest(
  forge: Forge,
  { head, from }: Pick<CheckRun, 'head' | 'from'>,
): Promise<PullRequest | null> {
  const owner = from?.repository.split('/')[0];
  const listed = await forge.listPullRequests(from === null ? undefined : `${owner}:${from.branch}`);
  const found = listed.filter((one) => {
    const isFrom = from === null || (one.repository === from.repository && one.branch === from.branch);
    return one.isOpen && one.head === head && isFrom;
  });
  if (found.length < 2) return found[0] ?? null;
  const names = found.map(({ label }) => label).join(', ');
  const hint = 'Nothing was written. Close all of them but one.';
  throw new TeddyError('USAGE', `Several open ${forge.noun}s have the commit ${head.slice(0, 10)}: ${names}.`, hint);
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
  const names = [pull.ref, `refs/heads/${pull.base}`] as RefName[];
  return withQuarantine(project, async (toRef) => {
    const { refs } = await project.repository.remotes.list(remote, names, { signal });
    const [head, base] = names.map((name) => refs.find(({ ref }) => ref === name)?.oid);
    if (base === undefined)
      throw new TeddyError('UNKNOWN_BRANCH', `${remote} has no branch ${pull.base}.`, 'Push it there.');
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
  // GitLab cuts the end off, and the next run compares.
  const body = `<!-- teddy ci comment ${head} -->\n${text}`.trimEnd();
  const name = await forge.ownName();
  const own = (await forge.listComments(number)).find((one) => isByOwner(one, name) && mark.test(one.body));
  // Read last: a run that has taken long would otherwise replace the comment on a commit that was pushed since.
  const now = await forge.readPullRequest(number);
  if (!now.isOpen || now.head !== head) return { state: 'outdated', url: own?.url ?? null };
  if (own?.body === body) return { state: 'unchanged', url: own.url };
  const written = await (own === undefined
    ? forge.createComment(number, body)
    : forge.updateComment(number, own.id, body));
  return { state: own === undefined ? 'created' : 'updated', url: written.url };
}

/** GitHub writes an app's name with and without `[bot]`, which no person's name may contain. */
function isByOwner({ author }: ForgeComment, name: string): boolean {
  return author === name || author === `${name}[bot]`;
}

/** A run for a pull request, as the forge describes it. */
export interface CheckRun {
  head: Oid;
  /** The repository, as `owner/name`, and the branch that the run was for; null for the job's own merge request. */
  from: { repository: string; branch: string } | null;
  /** The run's result, such as `success`; any code of the pull request may have determined it. Null while it runs. */
  conclusion: string | null;
}

/** Reads the variables of a job in a merge request's pipeline on GitLab. Returns null outside of one. */
export function readJob(env: Record<string, string | undefined>): CheckRun | null {
  const { GITLAB_CI, CI_MERGE_REQUEST_IID, CI_MERGE_REQUEST_SOURCE_BRANCH_SHA, CI_COMMIT_SHA = '' } = env;
  // The pipeline for a merged result has another commit, and only then the source branch's.
  const head = CI_MERGE_REQUEST_SOURCE_BRANCH_SHA || CI_COMMIT_SHA;
  const isJob = GITLAB_CI === 'true' && CI_MERGE_REQUEST_IID !== undefined && isOid(head);
  return isJob ? { head, from: null, conclusion: null } : null;
}

/**
 * Reads a `workflow_run` event. Returns null for a run that no pull request has started. Takes nothing that the run
 * itself has written. Throws USAGE.
 */
export function readCheckRun(text: string): CheckRun | null {
  const run = field(read(text), 'workflow_run');
  if (!isObject(run)) throw strangeEvent('workflow_run');
  if (run['event'] !== 'pull_request') return null;
  const { head_branch: branch, head_sha: head, conclusion } = run;
  const repository = field(run['head_repository'], 'full_name');
  const isNamed = typeof repository === 'string' && /^[\w.-]+\/[\w.-]+$/.test(repository);
  if (!isNamed || typeof branch !== 'string' || typeof head !== 'string' || !isOid(head))
    throw strangeEvent('workflow_run');
  return { head, from: { repository, branch }, conclusion: typeof conclusion === 'string' ? conclusion : 'no result' };
}

/** Reads a `push` event. Returns null when the push has made or deleted the branch. Throws USAGE. */
export function readPush(text: string): { base: Oid; head: Oid } | null {
  const { before, after } = read(text);
  if (typeof before !== 'string' || typeof after !== 'string' || !isOid(before) || !isOid(after))
    throw strangeEvent('push');
  return [before, after].some((oid) => /^0+$/.test(oid)) ? null : { base: before, head: after };
}

function read(text: string): Record<string, unknown> {
  const event = parseObject(text);
  if (event !== null) return event;
  throw new TeddyError('USAGE', 'The event file is not a JSON document.', 'Pass `--event "$GITHUB_EVENT_PATH"`.');
}

function strangeEvent(name: string): TeddyError {
  return new TeddyError(
    'USAGE',
    `The event file does not describe a \`${name}\` event.`,
    `Start the job on \`${name}\`.`,
  );
}
