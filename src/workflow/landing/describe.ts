/**
 * Describes a landing: its message lists the turns and the models that took part, and a warning tells the user when the
 * target is behind its upstream.
 */
import { findPlanTitle } from '../../plan/plan-comments.ts';
import type { Commit, Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { findDisclosed, joinAssistants, renderDisclosure, toDisclosure } from '../../session/entries/assisted-by.ts';
import { countOf } from '../../session/spending/describe-spending.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { undoneExtent, revertsTurn } from '../../session/lines/line-paths.ts';
import { nameEdits, nameSome, type OwnEdit } from '../../session/text/name-some.ts';
import { shortRef, type Oid, type RefName, type RepoPath, type SessionId, type TurnName } from '../../names.ts';
import type { LandableLine, LandingSides } from './landing.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { readBaseStart } from '../../session/lines/lines.ts';
import { readTurnFile } from '../../view/view.ts';
import { gitCommandFor } from '../line/switch.ts';
import { findMakers } from '../line/find-committed.ts';
import { readAssistance } from '../line/read-assistance.ts';
import type { LandingTarget } from './choose-target.ts';

const shownTurns = 20;

/** The entries after a landing's base, described by their additions. */
export interface LandingParts {
  /**
   * Turns that changed code and were not undone, oldest first, each described by its plan, its written files or its
   * message. `failed` is the status of its run, unless it succeeded. `partly` lists the files that an undo reverted,
   * and the files that it did not revert.
   */
  turns: {
    turn: TurnName;
    title: string;
    failed: string | null;
    partly: { taken: RepoPath[]; left: RepoPath[] } | null;
  }[];
  /** The subjects of other commits that change code, such as the user's own commits, merges and undone turns. */
  others: string[];
  /** Files written by write sessions in turns that also have a plan. */
  written: string[];
  /** Files with edits that came from none of the session's turns and none of the user's commits. */
  ownEdits: OwnEdit[];
  /** The snapshots with edits made before the first message, newest first. */
  early: Oid[];
}

/**
 * Composes the subject and the body. The subject is the newest plan's title; the body lists several turns, and
 * everything that does not belong to a plan.
 */
export function describeLanding({ session }: LandableLine, { turns, others, written, ownEdits }: LandingParts): string {
  const rows = [
    ...turns.map((turn) => `${turn.turn} ${turn.title}${describeRest(turn)}`),
    ...(turns.length > 0 ? [] : others),
  ];
  const besides = [
    ...(written.length === 0 ? [] : [`written: ${toVisible(nameSome(written))}`]),
    ...nameEdits(ownEdits, (names) => `own edits, not part of a plan: ${names}`).map(toVisible),
  ];
  const [only, second] = turns.length > 0 ? turns.map(({ title }) => title) : others;
  const isPlain = second === undefined && besides.length === 0 && turns.every((turn) => describeRest(turn) === '');
  if (only !== undefined && isPlain) return only;
  const shown = rows.slice(0, shownTurns);
  const more = rows.length - shown.length;
  const body = [
    ...shown,
    ...(more > 0 ? [`and ${more} more ${turns.length > 0 ? 'turns' : 'commits'}`] : []),
    ...besides,
  ];
  const newest = turns.at(-1)?.title ?? toWords(session);
  return [newest, ...(body.length === 0 ? [] : [body.map((row) => `- ${row}`).join('\n')])].join('\n\n');
}

function describeRest({ failed, partly }: LandingParts['turns'][number]): string {
  const named = (paths: RepoPath[]) => toVisible(nameSome(paths));
  const parts = [
    ...(failed === null ? [] : [`its run ended in ${failed}`]),
    ...(partly === null ? [] : [`taken back: ${named(partly.taken)}`, `not taken back: ${named(partly.left)}`]),
  ];
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`;
}

/** Reads a landing's parts; a change to a file that is equal on both `sides` does not land. */
export async function readParts(
  project: Project,
  { session, tip }: LandableLine,
  base: Oid | null,
  sides: LandingSides,
): Promise<LandingParts> {
  const { store } = project.repository;
  const titles = new Map<TurnName, string>();
  const asked = new Map<TurnName, string>();
  const ends = new Map<TurnName, string>();
  const written = new Map<string, TurnName>();
  const edited = new Map<RepoPath, boolean>();
  const changing = new Set<TurnName>();
  const undone = new Map<TurnName, ReturnType<typeof undoneExtent>>();
  /** The files that each turn changed, and whether the newest change reverted them. */
  const taken = new Map<TurnName, Map<RepoPath, boolean>>();
  const others: string[] = [];
  const changesOf = (oid: Oid, { parents }: Commit) =>
    store.diffTrees(parents[0] ?? null, oid, { without: '.teddy' as RepoPath });
  const unasked: { oid: Oid; paths: RepoPath[] }[] = [];
  let early: typeof unasked = [];
  const setLater = () => unasked.splice(0).forEach(({ paths }) => paths.forEach((path) => edited.set(path, false)));
  for await (const { oid, commit } of store.firstParents(tip, base === null ? [] : [base])) {
    const entry = decodeEntry(commit.message);
    const isOwn = entry?.session === session;
    const isOfAgent = isOwn && entry.kind === 'snapshot' && entry.turn !== null && entry.head !== undefined;
    if (!isOwn || entry.kind === 'undo') others.push(toSubject(commit.message));
    if (isOwn && entry.kind === 'snapshot' && !isOfAgent) {
      others.push(toSubject(commit.message));
      unasked.push({ oid, paths: (await changesOf(oid, commit)).map(({ path }) => path) });
    }
    if (isOwn && entry.kind === 'message') setLater();
    if (isOwn && entry.kind === 'start') early = [...early, ...unasked.splice(0)];
    if (!isOwn || entry.turn === null) continue;
    const { kind, turn, title } = entry;
    // Walks turns newest first, so a turn's first message comes last.
    if (kind === 'message' || isOfAgent) asked.set(turn, title);
    if (kind === 'plan' || (kind === 'write' && !titles.has(turn))) titles.set(turn, title);
    if (kind === 'write') for (const { path } of await changesOf(oid, commit)) written.set(path, turn);
    if (kind === 'report' && entry.status !== undefined && !ends.has(turn)) ends.set(turn, entry.status);
    // A rejected or rolled-back run has a report too.
    const isRun = kind === 'report' && (entry.status === 'SUCCESS' || (await changesOf(oid, commit)).length > 0);
    if (kind === 'write' || isRun || isOfAgent) changing.add(turn);
    if (kind === 'undo' && !undone.has(turn)) undone.set(turn, undoneExtent(entry));
    if (undone.get(turn) !== 'part') continue;
    const paths = taken.get(turn) ?? new Map<RepoPath, boolean>();
    taken.set(turn, paths);
    for (const { path } of await changesOf(oid, commit)) if (!paths.has(path)) paths.set(path, revertsTurn(entry));
  }
  const turns: LandingParts['turns'] = [];
  for (const turn of changing) {
    if (undone.get(turn) === 'whole') continue;
    // A plan may land before its execution.
    const plan = titles.has(turn) ? null : await readTurnFile(store, { commit: tip, session, turn }, 'plan.md');
    const known = titles.get(turn) ?? (plan === null ? asked.get(turn) : undefined);
    const end = ends.get(turn) ?? 'SUCCESS';
    const pathsOf = (isTaken: boolean) =>
      [...(taken.get(turn) ?? [])].flatMap(([path, is]) => (is === isTaken ? [path] : []));
    const partly = undone.get(turn) === 'part' ? { taken: pathsOf(true), left: pathsOf(false) } : null;
    const title = known ?? findPlanTitle(plan ?? '').title;
    turns.push({ turn, title, failed: end === 'SUCCESS' ? null : end, partly });
  }
  setLater();
  const isLeft = await Promise.all(early.map(async ({ oid }) => (await takeOff(store, tip, oid)) !== 'gone'));
  early = early.filter((_, at) => isLeft[at]);
  for (const { paths } of early) for (const path of paths) edited.set(path, true);
  const lands = async (path: RepoPath) =>
    (await store.findOid(sides.base, path)) !== (await store.findOid(sides.theirs, path));
  const landing = await Promise.all([...edited].map(async ([path]) => lands(path)));
  const landed = [...edited].flatMap(([path, isEarly], at) => (landing[at] === true ? [{ path, isEarly }] : []));
  const versions = landed.map(async ({ path }) => ({ path, blob: await store.findOid(sides.theirs, path) }));
  const makers = landed.length === 0 ? null : await findMakers(project, await Promise.all(versions), session);
  return {
    turns: turns.toReversed(),
    others: others.toReversed(),
    written: [...written].flatMap(([path, turn]) => (ends.has(turn) ? [path] : [])),
    ownEdits: landed.map((edit) => ({ ...edit, of: makers?.get(edit.path) ?? null })),
    early: early.map(({ oid }) => oid),
  };
}

/** Returns the outcome of a `git revert` of a commit on a line; `gone` when the line no longer contains any of its changes. */
export async function takeOff(store: Store, tip: Oid, oid: Oid): Promise<'clean' | 'conflict' | 'gone'> {
  const [ours, { tree: base, parents }] = await Promise.all([store.readCommit(tip), store.readCommit(oid)]);
  const theirs = (await store.readCommit(parents[0] ?? oid)).tree;
  const { tree } = await store.mergeTrees(base, ours.tree, theirs);
  return tree === null ? 'conflict' : tree === ours.tree ? 'gone' : 'clean';
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
 * Returns the trailers that disclose who wrote the landed code: the models that answered in turns that changed code and
 * were not undone, and everything that the user's own commits disclose. Returns none when `teddy.assistedBy` is off.
 * Throws BAD_SETTING.
 */
export async function discloseModels(project: Project, { tip }: LandableLine, base: Oid | null): Promise<string[]> {
  const template = toDisclosure(await project.settings.get('assistedBy'));
  if (template === null) return [];
  const { turns, ownMessages } = await readAssistance(project, tip, base);
  const landed = turns.filter(({ changes, isTaken }) => changes.size > 0 || isTaken);
  const trailers = renderDisclosure(template, joinAssistants(landed.flatMap(({ assistants }) => assistants)));
  return [...trailers, ...findDisclosed(template, ownMessages, trailers)];
}

/**
 * Warns when the target is behind its upstream, with a command that works before and after the landing. `root` is as
 * for `gitCommandFor`.
 */
export async function reportBehind(project: Project, { ref, tip }: LandingTarget, root: string | null): Promise<void> {
  const upstream = await findUpstream(project.repository.store, ref);
  if (upstream === null || tip === null) return;
  const missing = await project.repository.store.findReachable('', upstream.oid, [tip]);
  if (missing.length === 0) return;
  project.notices.warn(
    `${shortRef(ref)} is ${countOf(missing.length, 'commit')} behind ${upstream.name}. To bring it up to date: \`${gitCommandFor(project, ref, root)} merge ${toShellWord(upstream.name)}\``,
  );
}

/** Returns the upstream from git's configuration; also null when it was never fetched. */
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

/** Warns of commits from the base branch that the landing would add to a target without them. */
export async function reportBrought(
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
    `${countOf(length, 'commit')} from ${branch} ${come} along: ${line.session} started there, and ${shortRef(ref)} does not have ${them}.`,
  );
}
