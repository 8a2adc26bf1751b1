/** A review leaves the machine: what models and users wrote is masked, each text as a whole. */
import type { Masker } from '../../ports.ts';
import { formatCount } from '../../session/format-count.ts';
import { repoPathFromGit } from '../../session/names.ts';
import { maskString } from '../mask-text.ts';
import type { ChangedFile, Review, ReviewedTurn } from './review-session.ts';

type Mask = (text: string) => Promise<string>;

/** A review shows less of any text. Twice as much is looked through, so that no half of a secret stands at the end of what is kept. */
const maxKept = 65_536;

function keepBeginning(text: string): string {
  return text.length <= maxKept ? text : text.slice(0, 2 * maxKept);
}

/** `masked`: what was made of the beginning of `text`. */
function endWithCount(masked: string, text: string): string {
  if (text.length <= maxKept) return masked;
  return `${masked.slice(0, maxKept)}\n[${formatCount(text.length - maxKept)} more characters are left out]`;
}

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
  const all = [message, plan ?? '', error ?? '', ...actions.flatMap(({ target, reason }) => [target, reason ?? ''])];
  const isLong = all.some((text) => text.length > maxKept);
  if (!isLong && (await masker.mask(all.join('\n\n'))).count === 0) return turn;
  const maskKept = async (text: string) => endWithCount(await mask(keepBeginning(text)), text);
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
