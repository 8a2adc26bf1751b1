/** A review leaves the machine: what models and users wrote is masked, each text as a whole. */
import type { Masker } from '../../ports/project.ts';
import { cutText } from '../../session/cut-text.ts';
import { repoPathFromGit } from '../../names.ts';
import { maskString } from '../line/mask-text.ts';
import type { ChangedFile, ReviewedTurn, TurnLabel } from './turn.ts';
import type { ReviewedLine } from './review.ts';

type Mask = (text: string) => Promise<string>;

/** A review shows less of any text. Twice as much is looked through, so that no half of a secret stands at the end of what is kept. */
const maxKept = 65_536;

function keepBeginning(text: string): string {
  return text.length <= maxKept ? text : text.slice(0, 2 * maxKept);
}

type Unread = Omit<ReviewedLine, 'readTurns'>;

/** All but its turns as they are read: `maskTurn` masks these. */
export async function maskReview(masker: Masker, review: Unread): Promise<Unread> {
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
  const { message, plan, error, actions } = turn;
  const all = [message, plan ?? '', error ?? '', ...actions.flatMap(({ target, reason }) => [target, reason ?? ''])];
  const isLong = all.some((text) => text.length > maxKept);
  if (!isLong && !(await hasSecret(masker, all))) return turn;
  const maskKept = async (text: string) => cutText(text, maxKept, await mask(keepBeginning(text)));
  const maskIfAny = async (text: string | null) => (text === null ? null : maskKept(text));
  return {
    ...turn,
    message: await maskKept(message),
    plan: await maskIfAny(plan),
    error: await maskIfAny(error),
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
