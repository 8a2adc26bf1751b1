/** Describes a landing: in its message the turns whose code it brings and the models that had a part in it, and to the user a target that is behind its upstream. */
import { findPlanTitle } from '../../plan/plan-comments.ts';
import type { Commit, Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { findDisclosed, joinAssistants, renderDisclosure, toDisclosure } from '../../session/assisted-by.ts';
import { countOf } from '../../session/describe-spending.ts';
import { decodeEntry } from '../../session/entry.ts';
import { shortRef, type Oid, type RefName, type RepoPath, type SessionId, type TurnName } from '../../names.ts';
import type { LandableLine } from './landing.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { readBaseStart } from '../../session/lines.ts';
import { readTurnFile } from '../line/read.ts';
import { readAssistance } from '../line/read-assistance.ts';
import type { LandingTarget } from './choose-target.ts';

const shownTurns = 20;

/** Subject and body, of what came after `base`. The subject is the newest plan's title; the body lists several turns. */
export async function describeLanding(project: Project, line: LandableLine, base: Oid | null): Promise<string> {
  const { turns, others } = await readTitles(project, line, base);
  const [only, second] = turns.length > 0 ? turns.map(({ title }) => title) : others;
  if (only !== undefined && second === undefined) return only;
  const told = turns.length > 0 ? turns.map(({ turn, title }) => `${turn} ${title}`) : others;
  const rows = told.slice(0, shownTurns).map((row) => `- ${row}`);
  const more = told.length - rows.length;
  const body = [...rows, ...(more > 0 ? [`- and ${more} more ${turns.length > 0 ? 'turns' : 'commits'}`] : [])];
  const newest = turns.at(-1)?.title ?? toWords(line.session);
  return [newest, ...(body.length === 0 ? [] : [body.join('\n')])].join('\n\n');
}

/**
 * Turns that changed code and were not undone, oldest first, each by its plan or else by what it wrote, or what was asked of it.
 * `others`: the subjects of what changes code besides, as the user's own commits, merges and what was undone.
 */
async function readTitles(
  { repository: { store } }: Project,
  { session, tip }: LandableLine,
  base: Oid | null,
): Promise<{ turns: { turn: TurnName; title: string }[]; others: string[] }> {
  const titles = new Map<TurnName, string>();
  const asked = new Map<TurnName, string>();
  const changing = new Set<TurnName>();
  const undone = new Set<TurnName>();
  const others: string[] = [];
  for await (const { oid, commit } of store.firstParents(tip, base === null ? [] : [base])) {
    const entry = decodeEntry(commit.message);
    const isOwn = entry?.session === session;
    const isOfAgent = isOwn && entry.kind === 'snapshot' && entry.turn !== null && entry.head !== undefined;
    if (!isOwn || entry.kind === 'undo' || (entry.kind === 'snapshot' && !isOfAgent))
      others.push(toSubject(commit.message));
    if (!isOwn || entry.turn === null) continue;
    const { kind, turn, title } = entry;
    // The first message of a turn comes last.
    if (kind === 'message' || isOfAgent) asked.set(turn, title);
    if (kind === 'plan' || (kind === 'write' && !titles.has(turn))) titles.set(turn, title);
    // One that was rejected or rolled back has a report all the same.
    const isRun = kind === 'report' && (entry.status === 'SUCCESS' || (await changesCode(store, oid, commit)));
    if (kind === 'write' || isRun || isOfAgent) changing.add(turn);
    if (kind === 'undo') undone.add(turn);
  }
  const found: { turn: TurnName; title: string }[] = [];
  for (const turn of changing) {
    if (undone.has(turn)) continue;
    // A plan may have landed before it was executed.
    const plan = titles.has(turn) ? null : await readTurnFile(store, tip, session, turn, 'plan.md');
    const known = titles.get(turn) ?? (plan === null ? asked.get(turn) : undefined);
    found.push({ turn, title: known ?? findPlanTitle(plan ?? '').title });
  }
  return { turns: found.toReversed(), others: others.toReversed() };
}

async function changesCode(store: Store, oid: Oid, { parents }: Commit): Promise<boolean> {
  return (await store.diffTrees(parents[0] ?? null, oid, { without: '.teddy' as RepoPath })).length > 0;
}

function toSubject(message: string): string {
  return message.trim().split('\n', 1)[0] ?? '';
}

/** `20260124-add-user-auth` -> `Add user auth`. */
function toWords(session: SessionId): string {
  const words = session.slice('20260124-'.length).replaceAll('-', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/**
 * The trailers that disclose whose code a landing brings: the models that have answered in turns which changed code and were not
 * undone, and whatever the user's own commits disclose. None where `teddy.assistedBy` is off. Throws BAD_SETTING.
 */
export async function discloseModels(project: Project, { tip }: LandableLine, base: Oid | null): Promise<string[]> {
  const template = toDisclosure(await project.settings.get('assistedBy'));
  if (template === null) return [];
  const { turns, ownMessages } = await readAssistance(project, tip, base);
  const landed = turns.filter(({ changes, isTaken }) => changes.size > 0 || isTaken);
  const trailers = renderDisclosure(template, joinAssistants(landed.flatMap(({ assistants }) => assistants)));
  return [...trailers, ...findDisclosed(template, ownMessages, trailers)];
}

/** `git` as a person here types it to act on a branch. `root`: of the work tree that has the branch checked out, if any. */
export function toGitOn({ repository }: Project, ref: RefName, root: string | null): string {
  if (root === null) return `git switch ${toShellWord(shortRef(ref))} && git`;
  return root === repository.workspace?.root ? 'git' : `git -C ${toShellWord(root)}`;
}

/** `root`: as for `toGitOn`. The command works before the landing and after it. */
export async function tellBehind(project: Project, { ref, tip }: LandingTarget, root: string | null): Promise<void> {
  const upstream = await findUpstream(project.repository.store, ref);
  if (upstream === null || tip === null) return;
  const missing = await project.repository.store.findReachable('', upstream.oid, [tip]);
  if (missing.length === 0) return;
  project.notices.warn(
    `${shortRef(ref)} is ${countOf(missing.length, 'commit')} behind ${upstream.name}. To bring it up to date: \`${toGitOn(project, ref, root)} merge ${toShellWord(upstream.name)}\``,
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
    `${countOf(length, 'commit')} of ${branch} ${come} along: ${line.session} began there, and ${shortRef(ref)} does not have ${them}.`,
  );
}
