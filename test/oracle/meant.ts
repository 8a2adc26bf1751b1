/** The differences that a change means, each with its reason. The list is emptied when that change is complete. */
export interface MeantDifference {
  reason: string;
  /** Matches what was asked, as `teddy list --all` or `GET /api/sessions`. */
  asked: RegExp;
  /** In what the older executable says. */
  before: RegExp;
  now: string;
}

export const meant: MeantDifference[] = [];
