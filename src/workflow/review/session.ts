/** Collects for a reviewer the turns of a line, their plans and results, their cost, and the changed files. */
import type { ChangedCommit, Store } from '../../ports/git.ts';
import type { Masker, Project } from '../../ports/project.ts';
import { repoPathFromGit, sessionDir, type Oid, type TurnName } from '../../names.ts';
import {
  maxShownText,
  readSession,
  readContent,
  readTurnVerdicts,
  type Session,
  type Step,
  type TurnOutline,
} from '../../view/view.ts';
import { sumSpent } from '../../session/spending.ts';
import { listCodeChanges } from './diff-files.ts';
import { findUnlandedBase } from '../line/session-start.ts';
import { findRecorded } from '../line/find-recorded.ts';
import { countFiles, labelTurn, reviewTurn, type ChangedFile, type ReviewedTurn, type TurnLabel } from './turn.ts';
import type { OwnCommit, Review, ReviewedLine } from './review.ts';
import { listAnswerers, listApprovers, listWorkers } from './who.ts';
import { cutText } from '../../session/cut-text.ts';
import { maskString } from '../line/mask-text.ts';

/** Without secrets: every text is masked. Throws what `findRecorded` throws, DAMAGED_SESSION, MASKING_FAILED. */
export async function reviewSession(project: Project, target: string | undefined): Promise<Review> {
  const { readTurns, ...line } = await openReview(project, target);
  const turns: ReviewedTurn[] = [];
  for await (const turn of readTurns()) turns.push(turn);
  const inOrder = turns.toReversed();
  return { ...line, turns: inOrder, approvers: listApprovers(inOrder) };
}

/** The same as `reviewSession`. */
export async function openReview(project: Project, target: string | undefined): Promise<ReviewedLine> {
  const { store } = project.repository;
  const line = await findRecorded(project, target);
  const session = await readSession(store, line);
  const { steps, base, baseBranch, agent } = session;
  const review = await maskReview(project.masker, {
    session: line.session,
    line: line.name,
    tip: line.tip,
    base,
    baseBranch,
    baseSession: base === null ? null : await findUnlandedBase(project, line.session, base),
    turns: session.turns.map(labelTurn),
    models: listAnswerers(
      steps.flatMap(({ entry }) => entry ?? []),
      agent,
    ),
    people: listWorkers(steps),
    commits: listOwn(steps),
    spent: sumSpent(steps.flatMap(({ entry }) => entry ?? [])),
    files: await countFiles(store, await listCodeChanges(store, base, line.tip)),
  });
  return { ...review, readTurns: () => readNewest(project, session, session.turns.toReversed()) };
}

/** So many turns have their changes read by the first walk. Each walk takes twice as many as the one before: whoever reads all turns needs few. */
const firstTurns = 32;
/** So many are read at once: more of them might be large. */
const turnsAtOnce = 4;

async function* readNewest(
  project: Project,
  session: Session,
  newest: readonly TurnOutline[],
): AsyncGenerator<ReviewedTurn> {
  const {
    masker,
    repository: { store },
  } = project;
  const { source } = session;
  if (source === null) return;
  const dir = await store.readDir(source, sessionDir(session.session));
  const trees = new Map(dir?.entries.map(({ name, oid, mode }) => [name, mode === '40000' ? oid : undefined]));
  const changes = changeReader(store, session);
  for (let at = 0; at < newest.length; at = 2 * at + firstTurns) {
    const some = newest.slice(at, 2 * at + firstTurns);
    // The turns stand in the order of their first steps: no step of these is before that of the last one.
    const read = await changes(some.at(-1)?.steps[0]);
    const changesOf = (commit: Oid) => read.get(commit) ?? [];
    const readOne = async (outline: TurnOutline) => {
      const tree = trees.get(outline.turn);
      const entries = tree === undefined ? [] : await store.readTree(tree);
      const place = { session: session.session, turn: outline.turn };
      const content = await readContent(store, { ...place, commit: source }, { most: maxShownText, entries });
      const verdicts = await readTurnVerdicts(project, place, outline.steps);
      const turn = { ...outline, ...content };
      return maskTurn(masker, await reviewTurn(store, { turn, verdicts, agent: session.agent, changesOf }));
    };
    for (let next = 0; next < some.length; next += turnsAtOnce)
      yield* await Promise.all(some.slice(next, next + turnsAtOnce).map(readOne));
  }
}

type Changes = ReadonlyMap<Oid, ChangedCommit['changes']>;

/** Reads the changes of the steps from the given one on; those that were read before are not read again. */
function changeReader(store: Store, { steps, base }: Session): (first: Step | undefined) => Promise<Changes> {
  const known = new Map<Oid, ChangedCommit['changes']>();
  let from = steps.length;
  return async (first) => {
    const next = first === undefined ? from : steps.indexOf(first);
    const unread = steps.slice(next, from).map(({ commit, parent }) => ({ oid: commit, parent }));
    // A shallow clone names the parent of its first commit, and does not have it.
    if (next === 0 && base === null && unread[0] !== undefined) unread[0].parent = null;
    for await (const { oid, changes } of store.changesOf(unread)) known.set(oid, changes);
    from = Math.min(next, from);
    return known;
  };
}

function listOwn(steps: readonly Step[]): OwnCommit[] {
  let after: TurnName | null = null;
  const own: OwnCommit[] = [];
  for (const { commit, subject, entry } of steps) {
    if (entry?.turn) after = entry.turn;
    if (entry === null) own.push({ commit, subject, after });
  }
  return own;
}

/** A review leaves the machine: what models and users wrote is masked, each text as a whole. */
type Mask = (text: string) => Promise<string>;

/** A review shows less of any text. Twice as much is looked through, so that no half of a secret stands at the end of what is kept. */
const maxKept = 65_536;

function keepBeginning(text: string): string {
  return text.length <= maxKept ? text : text.slice(0, 2 * maxKept);
}

type Unread = Omit<ReviewedLine, 'readTurns'>;

/** All but its turns as they are read: `maskTurn` masks these. */
async function maskReview(masker: Masker, review: Unread): Promise<Unread> {
  const mask = maskWith(masker);
  return {
    ...review,
    turns: await maskLabels(masker, review.turns),
    commits: await maskCommits(masker, review.commits),
    files: await maskFiles(masker, mask, review.files),
  };
}

function maskWith(masker: Masker): Mask {
  return (text) => (text === '' ? Promise.resolve('') : maskString(masker, text));
}

async function maskLabels(masker: Masker, labels: TurnLabel[]): Promise<TurnLabel[]> {
  const mask = maskWith(masker);
  if (
    !(await hasSecret(
      masker,
      labels.flatMap(({ message, plan }) => [message, plan ?? '']),
    ))
  )
    return labels;
  const maskLabel = async (label: TurnLabel) => ({
    ...label,
    message: await mask(label.message),
    plan: label.plan === null ? null : await mask(label.plan),
  });
  return Promise.all(labels.map(maskLabel));
}

async function maskCommits(masker: Masker, commits: Unread['commits']): Promise<Unread['commits']> {
  const mask = maskWith(masker);
  if (
    !(await hasSecret(
      masker,
      commits.map(({ subject }) => subject),
    ))
  )
    return commits;
  return Promise.all(commits.map(async (own) => ({ ...own, subject: await mask(own.subject) })));
}

/** Most texts have none: one look at all of them together says so. */
async function hasSecret(masker: Masker, texts: readonly string[]): Promise<boolean> {
  return (await masker.mask(texts.join('\n\n'))).count > 0;
}

export async function maskTurn(masker: Masker, turn: ReviewedTurn): Promise<ReviewedTurn> {
  const mask = maskWith(masker);
  return { ...(await maskTexts(masker, mask, turn)), files: await maskFiles(masker, mask, turn.files) };
}

async function maskTexts(masker: Masker, mask: Mask, turn: ReviewedTurn): Promise<ReviewedTurn> {
  const { message, plan, error, actions, verdicts } = turn;
  const said = verdicts.flatMap(({ text, comments }) => [text ?? '', ...comments.map((comment) => comment.text)]);
  const all = [
    message,
    plan ?? '',
    error ?? '',
    ...said,
    ...actions.flatMap(({ target, reason }) => [target, reason ?? '']),
  ];
  const isLong = all.some((text) => text.length > maxKept);
  if (!isLong && !(await hasSecret(masker, all))) return turn;
  const maskKept = async (text: string) => cutText(text, maxKept, await mask(keepBeginning(text)));
  const maskIfAny = async (text: string | null) => (text === null ? null : maskKept(text));
  return {
    ...turn,
    message: await maskKept(message),
    plan: await maskIfAny(plan),
    error: await maskIfAny(error),
    verdicts: await Promise.all(
      verdicts.map(async (verdict) => ({
        ...verdict,
        text: await maskIfAny(verdict.text),
        comments: await Promise.all(
          verdict.comments.map(async (comment) => ({ ...comment, text: await maskKept(comment.text) })),
        ),
      })),
    ),
    actions: await Promise.all(
      actions.map(async (action) => ({
        ...action,
        target: await maskKept(action.target),
        reason: await maskIfAny(action.reason),
      })),
    ),
  };
}

async function maskFiles(masker: Masker, mask: Mask, files: ChangedFile[]): Promise<ChangedFile[]> {
  if ((await masker.mask(files.map(({ path }) => path).join('\n'))).count === 0) return files;
  return Promise.all(files.map(async (file) => ({ ...file, path: repoPathFromGit(await mask(file.path)) })));
}
