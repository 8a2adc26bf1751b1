/** The differences that a change means, each with its reason. The list is emptied when that change is complete. */
export interface MeantDifference {
  reason: string;
  /** Matches what was asked, as `teddy list --all` or `GET /api/sessions`. */
  asked: RegExp;
  /** Stands in what one of the two executables says, and not in what the other one does. */
  text: RegExp;
}

export const meant: MeantDifference[] = [
  {
    reason: 'The list of sessions says where each is checked out, since there is no list of work trees any more.',
    asked: /^teddy list --all --json$/,
    text: /,\n {6}"workTree": [^\n]*/g,
  },
  {
    reason: 'The stats count each session, since there is no command for costs any more.',
    asked: /^teddy session stats --json$/,
    text: /,\n {2}"bySession": \[[^]*?\n {2}\]/g,
  },
  {
    reason: 'The doctor and the status tell of hooks that do not work, since no command lists these any more.',
    asked: /^teddy (?:doctor|status)\b/,
    text: /, hooks of git \(teddy's are not installed\)|,\n {4}"hooks of git[^\n]*"|,\n {2}"brokenHooks": \[\]/g,
  },
];
