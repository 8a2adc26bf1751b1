/** The intended differences of a change, each with its reason. The list is emptied when that change is complete. */
export interface MeantDifference {
  reason: string;
  /** Matches the request, such as `teddy list --all` or `GET /api/sessions`. */
  asked: RegExp;
  /** Occurs in one executable's output, but not in the other's. */
  text: RegExp;
}

export const meant: MeantDifference[] = [];
