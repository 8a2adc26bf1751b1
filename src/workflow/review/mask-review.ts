/** A review leaves the machine: what models and users wrote is masked, each text as a whole. */
import type { Masker } from '../../ports.ts';
import { repoPathFromGit } from '../../session/names.ts';
import { maskString } from '../mask-text.ts';
import type { ChangedFile, Review, ReviewedTurn } from './review-session.ts';

type Mask = (text: string) => Promise<string>;

export async function maskReview(masker: Masker, review: Review): Promise<Review> {
  const mask = (text: string) => (text === '' ? Promise.resolve('') : maskString(masker, text));
  const turns = await Promise.all(
    review.turns.map(async (turn) => ({
      ...(await maskTurn(masker, mask, turn)),
      files: await maskFiles(masker, mask, turn.files),
    })),
  );
  const commits = await Promise.all(review.commits.map(async (own) => ({ ...own, subject: await mask(own.subject) })));
  return { ...review, turns, commits, files: await maskFiles(masker, mask, review.files) };
}

/** Most turns have no secret: one look at all their texts together says so. */
async function maskTurn(masker: Masker, mask: Mask, turn: ReviewedTurn): Promise<ReviewedTurn> {
  const { message, plan, error, actions } = turn;
  const texts = [message, plan ?? '', error ?? '', ...actions.flatMap(({ target, reason }) => [target, reason ?? ''])];
  if ((await masker.mask(texts.join('\n\n'))).count === 0) return turn;
  const maskIfAny = async (text: string | null) => (text === null ? null : mask(text));
  return {
    ...turn,
    message: await mask(message),
    plan: await maskIfAny(plan),
    error: await maskIfAny(error),
    actions: await Promise.all(
      actions.map(async (action) => ({
        ...action,
        target: await mask(action.target),
        reason: await maskIfAny(action.reason),
      })),
    ),
  };
}

async function maskFiles(masker: Masker, mask: Mask, files: ChangedFile[]): Promise<ChangedFile[]> {
  if ((await masker.mask(files.map(({ path }) => path).join('\n'))).count === 0) return files;
  return Promise.all(files.map(async (file) => ({ ...file, path: repoPathFromGit(await mask(file.path)) })));
}
