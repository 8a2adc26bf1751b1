/** The differences that a change means, each with its reason. The list is emptied when that change is complete. */
export interface MeantDifference {
  reason: string;
  /** Matches what was asked, as `teddy list --all` or `GET /api/sessions`. */
  asked: RegExp;
  /** Stands in what one of the two executables says, and not in what the other one does. */
  text: RegExp;
}

export const meant: MeantDifference[] = [];
