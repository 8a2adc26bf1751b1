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
    reason:
      'The list of sessions says where the branches of each are checked out, since there is no list of work trees any more, and names all remotes of one that is only there.',
    asked: /^teddy list\b.*--json$/,
    text: /,\n {6}"(?:workTrees|remotes)": \[(?:\]|[^]*?\n {6}\])/g,
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
  {
    reason: 'The turns of a review have the fields that a turn has everywhere: title, messages, planTitle, undoneBy.',
    asked: /^teddy (?:session )?review\b.* --json$/,
    text: /,\n {2}"turns": \[[^]*?\n {2}\]/g,
  },
  {
    reason: 'The entries of a turn that is shown are those of a log.',
    asked: /^teddy (?:session )?show\b.* --json$/,
    text: /,\n {2}"entries": \[[^]*?\n {2}\]/g,
  },
  {
    reason: 'A status gives the whole verdict, as a turn has it.',
    asked: /^teddy status --json$/,
    text: /,\n {2}"verdict": \{[^]*?\n {2}\}/g,
  },
  {
    reason: 'Every list of sessions names all remotes of a session that is only there.',
    asked: /^(?:GET \/api\/sessions|reader listSessions)$/,
    text: /"remotes":\s*\[[^\]]*\],\s*/g,
  },
  {
    reason: 'A log and a review say that the history of a session is cut off.',
    asked: /^teddy (?:session )?(?:log|review)\b/,
    text: /warning: The history of [^\n]*\n/g,
  },
];
