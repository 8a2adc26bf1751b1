/** Warns about the target before a landing: that it is behind its upstream, and whose commits come with the line. */
import type { Project } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entry.ts';
import { shortRef, type Oid, type RefName } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { readBaseStart } from '../line/list.ts';
import type { LandingTarget } from './choose-target.ts';
import type { LandableLine } from './landing.ts';

/** `root`: of the work tree that has the target checked out, if any. The command works before the landing and after it. */
export async function tellBehind(
  { repository, notices }: Project,
  { ref, tip }: LandingTarget,
  root: string | null,
): Promise<void> {
  const upstream = await findUpstream(repository.store, ref);
  if (upstream === null || tip === null) return;
  const missing = await repository.store.findReachable('', upstream.oid, [tip]);
  if (missing.length === 0) return;
  const [branch, from] = [shortRef(ref), upstream.name];
  const git = root === null || root === repository.workspace?.root ? 'git' : `git -C ${toShellWord(root)}`;
  const turnTo = root === null ? `git switch ${toShellWord(branch)} && ` : '';
  notices.warn(
    `${branch} is ${countCommits(missing.length)} behind ${from}. To bring it up to date: \`${turnTo}${git} merge ${toShellWord(from)}\``,
  );
}

/** The upstream in git's configuration; null also where nothing was fetched of it. */
async function findUpstream(
  store: Project['repository']['store'],
  ref: RefName,
): Promise<{ name: string; oid: Oid } | null> {
  const branch = shortRef(ref);
  const [remote, merge] = await Promise.all([
    store.setting(`branch.${branch}.remote`),
    store.setting(`branch.${branch}.merge`),
  ]);
  if (remote === undefined || merge === undefined) return null;
  const name = merge.replace(/^refs\/heads\//, '');
  const [short, full] = remote === '.' ? [name, merge] : [`${remote}/${name}`, `refs/remotes/${remote}/${name}`];
  const oid = await store.resolve(full);
  return oid === null ? null : { name: short, oid };
}

/** Commits of the branch on which the session began, where it lands on another one that does not have them. */
export async function tellBrought(
  project: Project,
  line: LandableLine,
  { ref, tip }: LandingTarget,
  base: Oid | null,
): Promise<void> {
  const { store } = project.repository;
  const branch = (await readBaseStart(project, line.tip))?.branch ?? null;
  if (branch === null || branch === shortRef(ref) || tip === null) return;
  let began: Oid | null = null;
  for await (const { commit } of store.firstParents(line.tip, base === null ? [] : [base]))
    if (decodeEntry(commit.message)?.kind === 'start') began = commit.parents[0] ?? null;
  if (began === null) return;
  const { length } = await store.findReachable('', began, base === null ? [tip] : [tip, base]);
  if (length === 0) return;
  const [come, them] = length === 1 ? ['comes', 'it'] : ['come', 'them'];
  project.notices.warn(
    `${countCommits(length)} of ${branch} ${come} along: ${line.session} began there, and ${shortRef(ref)} does not have ${them}.`,
  );
}

function countCommits(count: number): string {
  return count === 1 ? '1 commit' : `${count} commits`;
}
