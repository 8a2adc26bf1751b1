/** Generates `docs/errors.md`: every code that an error can have, its exit code, its meaning, and what to do. */
import { exitCodes, type ErrorCode } from '../../src/errors.ts';
import { code, generated, renderTable } from './table.ts';

export const exitMeanings = new Map<number, string>([
  [0, 'Done. This includes an answer that is not a plan; teddy saves it as a reply.'],
  [
    1,
    'Something failed: an action failed or a plan was not valid, and the report says why; `verify`, `replay` or `doctor` found a problem; teddy rejected a session from a remote; or the environment is unusable, for example because there is no repository, no identity or no disk space.',
  ],
  [
    2,
    'Wrong usage, such as an unknown session, turn, remote or option, an empty message, or a missing file; or `doctor` could not carry out its checks.',
  ],
  [
    3,
    'Refused, and nothing has changed: a plan is pending, or none is; edits or a git operation are in the way; a budget is spent, or the request is too large; a record with the same id has different content; the remote is empty or ahead; a secret or a faulty branch would be pushed; a landing conflicts.',
  ],
  [4, 'Not approved: an action, a tool call in a conversation, or a text from a remote.'],
  [
    5,
    'There is no model, or it did not answer; your message is committed. Or the remote cannot be reached, or it refused the push.',
  ],
  [130, 'Interrupted.'],
]);

/** The explanations, in the order of `exitCodes`: what happened, and what to do. A code without a row does not compile. */
const explanations: Record<ErrorCode, [meaning: string, wayOut: string]> = {
  NOT_A_REPOSITORY: [
    'The current directory is not in a git repository, or git does not trust the repository.',
    'Change to a directory of your repository, or run `git init`. To trust it, run the `git config` command in the hint.',
  ],
  NO_WORK_TREE: [
    'There is no work tree: the repository is bare, or the current directory is gone.',
    'Run the command in a clone, in a directory that exists.',
  ],
  NO_IDENTITY: [
    'git has no name and email address for you, but every entry is a commit in your name.',
    'Set `git config --global user.name` and `user.email`.',
  ],
  GIT_TOO_OLD: ['teddy needs git 2.38 or newer.', 'Update git.'],
  GIT_MISSING: ['git could not be started.', 'Install git, and put it on your `PATH`.'],
  GIT_FAILED: [
    'A git command failed, or an object is missing or damaged. The message quotes git.',
    "Follow git's advice. `teddy doctor` and `git fsck` find missing objects.",
  ],
  SNAPSHOT_FAILED: [
    'git could not record your edits before a turn, for example because of a filter or a file name.',
    'Fix the cause, or commit your edits yourself. Nothing has changed.',
  ],
  DISK_FULL: [
    'The disk is full. Nothing that teddy had acknowledged is lost.',
    'Free some space and run the command again.',
  ],
  TOO_MANY_FILES: [
    'The system does not allow this process to open more files.',
    'Raise the limit with `ulimit -S -n "$(ulimit -H -n)"` and run the command again.',
  ],
  SYSTEM_FAILED: [
    'The operating system refused an operation, for example because of permissions.',
    'Make sure that the file named in the message can be read and written, then run the command again.',
  ],
  WRITE_FAILED: ['A file or a ref could not be written.', "Check the repository's permissions."],
  DAMAGED_SESSION: [
    "One of a session's files cannot be read: somebody changed it, or an object is missing.",
    'Restore the file from its own commit. `teddy verify` names what is wrong.',
  ],
  VALIDATION_FAILED: [
    "A plan cannot run, a file's content failed its checks, or a server sent something that teddy cannot use.",
    'Ask for a new plan; fix the problems and send the content again, or write it anyway with `--force`.',
  ],
  ACTION_FAILED: ['An action or a tool failed.', 'The message says why. Fix the cause and try again.'],
  MASKING_FAILED: [
    'teddy could not search a text for secrets, so it neither shows nor stores the text.',
    'Make the `.env` files readable. `git config teddy.redact false` continues without masking.',
  ],
  UNDO_INCOMPLETE: [
    'The files on disk are restored, but teddy could not add the entry that records this.',
    'Run the same `teddy undo` again.',
  ],
  ROLLBACK_INCOMPLETE: [
    'Some files could not be restored after a failed run.',
    'Fix the cause, then run `teddy execute --interrupted=rollback`. `--interrupted=keep` leaves the files as they are.',
  ],
  CONTENT_TOO_LARGE: [
    'A message, a file or a request is larger than its limit.',
    "Put a long text in a file in the project, and give the file's name instead. To write large files, use `teddy write stream`.",
  ],
  END_MISSING: [
    'The content ended without a `DONE` line, so teddy wrote nothing.',
    'Send the content again with its end marker, or finish what arrived with `teddy write recover`.',
  ],
  STAGING_DAMAGED: [
    'Somebody changed or removed the saved content of a write session.',
    '`teddy write recover <id> --output <file>` writes the remaining content to a file.',
  ],
  NOTHING_TO_IMPORT: [
    'The file contains no conversation, or none in the format in which teddy read it.',
    'Choose another file, or specify the format with `--format`.',
  ],
  HISTORY_INVALID: [
    'teddy built a request that breaks a rule of the provider. Nothing was sent.',
    'This is a bug in teddy; please report it. `teddy history --format markdown` still shows everything.',
  ],
  HOSTILE_SESSION: [
    'A session from a remote fails the checks, so teddy did not accept it.',
    'Look at it with `teddy verify`, and ask whoever pushed it.',
  ],
  SIGNING_FAILED: [
    'git could not sign the commit.',
    'Make `git commit -S` work without a prompt, or `git config teddy.sign false`.',
  ],
  USAGE: [
    'The command line, or a request over HTTP, is wrong.',
    'The hint says what the command accepts; `--help` shows everything.',
  ],
  BAD_NAME: ['The name is not valid for a session or an agent.', 'Use lower-case letters, digits and single hyphens.'],
  UNKNOWN_SESSION: ['No session matches.', '`teddy list` shows the sessions; `--archived` shows the archived ones.'],
  AMBIGUOUS_SESSION: [
    'Several sessions match.',
    'Give the full id. The hint contains the command with the newest session.',
  ],
  NO_OPEN_SESSION: [
    "HEAD is not on a session's branch, and you have no open session.",
    'Name a session with `-s`, or start one with `teddy new`.',
  ],
  UNKNOWN_WORK_TREE: ['No session has a linked work tree with that name.', '`git worktree list` shows all work trees.'],
  UNKNOWN_TURN: [
    'The session has no such turn.',
    '`teddy log` shows the turns. In a shallow clone, fetch the rest first.',
  ],
  UNKNOWN_AGENT: [
    'There is no such agent.',
    'The hint lists the agents. `teddy global edit agents/<name>.md` creates one.',
  ],
  UNKNOWN_PROVIDER: ['There is no such provider.', 'The hint lists the providers.'],
  BAD_SETTING: [
    'A setting has an impossible value, or does not exist.',
    '`teddy config` lists all settings and their values.',
  ],
  EMPTY_MESSAGE: ['The command needs a message but got none.', 'Pass one with `-m "..."`; `-m -` reads it from stdin.'],
  FILE_NOT_FOUND: ['A file that you specified cannot be read.', 'Check the path. Most commands accept `-` for stdin.'],
  BAD_RECORDING: [
    'The provider `recorded` has no recording, or the recording has no answer left for this turn.',
    'Specify a recording with `--recording <directory, bundle or branch>`, or use another provider.',
  ],
  UNKNOWN_MEMO: ['There is no such memo.', '`teddy memo list` shows the memos with their numbers.'],
  BAD_OPERATION: ['The operation is not `create`, `overwrite` or `append`.', 'Choose one of these three.'],
  BAD_TARGET: [
    'The file cannot be written, for example because it is outside the project.',
    "Specify a file in the project, relative to the project's root.",
  ],
  UNKNOWN_WRITE: [
    'There is no such write session, or it has expired.',
    '`teddy write list` lists the write sessions; `teddy write recover <id>` recovers the content that had arrived.',
  ],
  UNKNOWN_COMMIT: [
    'git cannot find the commit.',
    '`teddy log` shows the commits. If the session is in another repository, fetch it.',
  ],
  UNKNOWN_FORMAT: ['There is no such format.', 'The hint lists the formats.'],
  BAD_RECORD: [
    'A record sent to a session is not valid.',
    '[conversations.md](conversations.md#other-programs) and `/openapi.json` describe a record.',
  ],
  UNKNOWN_REMOTE: [
    'There is no such remote, or it is not clear which one you mean.',
    'Specify a remote, a URL or a path, or add a remote with `git remote add`.',
  ],
  UNKNOWN_BRANCH: [
    'The branch does not exist.',
    '`git branch` lists the branches; for `land`, `--onto <branch>` chooses another branch.',
  ],
  UNKNOWN_HOOK: ['teddy has no such hook.', 'The hint lists the hooks.'],
  SHALLOW_CLONE: [
    'This clone is shallow and lacks the part of the history that the command needs.',
    'Run `git fetch --unshallow`.',
  ],
  TURN_OPEN: [
    'The turn has no answer yet, so it has no end to go back to.',
    "`teddy branch <turn>` goes back to the turn's beginning.",
  ],
  PLAN_PENDING: [
    'The turn has a plan but no report.',
    'Run `teddy execute`, or close the turn with `teddy execute --reject`.',
  ],
  PLAN_REPLACED: [
    'Another plan has replaced the plan that you decided about. Neither was run.',
    'Read the current plan, and decide again.',
  ],
  APPROVAL_MISSING: [
    '`teddy.approvals` requires an approval before the plan is executed. Nothing was run.',
    'Approve the plan with `teddy approve`, or ask somebody else to do so: the hint says who.',
  ],
  AGENT_MAY_NOT_APPROVE: [
    'An AI agent started this command, as the message says, but only a person may approve a plan. Nothing was changed.',
    'Approve the plan in a terminal of your own, or on the page. An agent may always reject a plan.',
  ],
  NO_PENDING_PLAN: ['There is no plan to run.', 'Ask for one with `teddy plan -m "..."`.'],
  RUN_INTERRUPTED: [
    'A run or a command was killed, and nobody has decided yet what to do about it.',
    '`teddy execute` asks you what to do; without a terminal, add `--interrupted=resume`, `rollback` or `keep`.',
  ],
  NO_INTERRUPTED_RUN: [
    'You gave `--interrupted`, but no run was interrupted.',
    'Run the plan without `--interrupted`.',
  ],
  PLAN_MODIFIED: [
    'The pending plan on disk differs from the committed one.',
    'Restore it with the `git restore` command in the hint.',
  ],
  FILE_MODIFIED: [
    "A file has changed since teddy last read it, or somebody edited one of the session's published files.",
    'Revert the edit, or follow the hint.',
  ],
  REF_MOVED: ['A branch was moved or deleted while the command was running.', 'Run the command again.'],
  NOT_ON_LINE: [
    "The command needs the files of the session's branch, and no work tree has it checked out.",
    'Switch to the branch with `git switch`, or use `--worktree`.',
  ],
  LINE_CHECKED_OUT: [
    'Another work tree has the branch checked out.',
    'Work there, or switch that work tree to another branch.',
  ],
  WORK_TREE_IN_USE: [
    'teddy does not remove this work tree: it has changes or other files, somebody else made it, or it is in use.',
    'Look at it with `git status`. `git worktree remove` removes a work tree that teddy did not create.',
  ],
  OPERATION_IN_PROGRESS: [
    'The repository is in the middle of a rebase, merge, cherry-pick, revert or bisect.',
    'Finish or abort it, then run the command again.',
  ],
  BRANCH_IN_THE_WAY: [
    'A branch or an archive already has the name that teddy needs.',
    'Rename it with the command in the hint.',
  ],
  FILES_IN_THE_WAY: [
    'A file already exists where teddy has to write another file.',
    'Move it away and run the command again.',
  ],
  UNCOMMITTED_EDITS: [
    'You have uncommitted edits that the command must not touch.',
    'Commit them, or run `git config teddy.snapshot tracked` to have teddy commit them.',
  ],
  PARTIALLY_STAGED: [
    'A file was edited after it was staged, and one commit would mix the two versions.',
    'Commit the file, stage the rest, or unstage the file.',
  ],
  LOCKED: [
    "Another process is at work here: it holds one of git's locks or is receiving the turn's answer. Or a command is still running although the teddy process that started it was killed.",
    'Wait for the process, or stop it as the hint says. If no process holds the lock anymore, remove the file that the message names.',
  ],
  NOTHING_TO_UNDO: ['No turn has code to undo.', '`teddy log` shows the turns.'],
  NOTHING_TO_RESUME: ['Nothing is waiting on this branch.', 'Continue with `teddy plan -m "..."` or `teddy chat`.'],
  CONTEXT_TOO_LARGE: [
    'The request is larger than its budget, even without history. Nothing was sent or recorded.',
    'Show fewer files, raise `teddy.contextTokens`, or choose a model with a larger window.',
  ],
  BUDGET_SPENT: [
    'The session has reached `teddy.maxTurns` or `teddy.maxTokens`.',
    'Raise the limit, or start another session.',
  ],
  PAGE_REFUSED: [
    'teddy does not fetch this URL: it is not `https`, or its address is not public.',
    'Specify a public `https` page.',
  ],
  WRITE_ACTIVE: [
    'Another write session is in progress.',
    '`teddy write list <id>` shows it; `teddy write cancel <id>` ends it.',
  ],
  WRITE_FINALIZING: [
    'The content is complete, and teddy is putting it in place.',
    '`teddy write recover <id> --finalize` continues where teddy stopped.',
  ],
  TARGET_CHANGED: [
    'Somebody changed the file after the write session began, so teddy left it alone.',
    '`teddy write recover <id> --output <file>` writes the content elsewhere.',
  ],
  OFFSET_MISMATCH: [
    'The bytes do not continue where the received content ends.',
    'Send from the offset that the message names.',
  ],
  SERVER_RUNNING: ['A server is already running for this repository.', 'Use that server, or stop it first.'],
  ENTRY_EXISTS: [
    'The session already has a record with this id but different content.',
    'Send the new record under a new id.',
  ],
  REMOTE_EMPTY: [
    'The remote has no branch yet, and the first branch that is pushed becomes its default.',
    'Push the code branch first.',
  ],
  REMOTE_AHEAD: [
    'The remote has commits that you do not have. Nothing was pushed.',
    '`teddy sync` pulls them and pushes yours.',
  ],
  REMOTE_CHANGED: ['Somebody else pushed at the same time.', 'Run the command again.'],
  SECRET_FOUND: [
    'The push would include a secret. Nothing was pushed.',
    'Revoke the secret, then follow the hint to keep it out of the push.',
  ],
  FAULTY_SESSION: [
    'One of your sessions fails verification, so nobody could pull it. Nothing was pushed.',
    '`teddy verify` shows the fault. The hint says how to share what came before it.',
  ],
  NOTHING_TO_LAND: [
    "The branch already has all of the session's code.",
    'Archive the session if you are done with it.',
  ],
  OWN_EDITS: [
    'The session would also land your own edits from before its first message. Nothing has changed.',
    'Land them as well with `--with-own-edits`, or remove them from the session first, with the `git revert` command in the hint.',
  ],
  LAND_CONFLICT: [
    'The session and the branch changed the same lines. Nothing has changed.',
    'Merge by hand with the commands in the hint.',
  ],
  HOOK_IN_THE_WAY: [
    "A git hook that teddy does not own, or an agent's settings file, is in the way.",
    'The hint says what to move, or which line to add.',
  ],
  NOT_CAPTURED: [
    "Other agents' sessions are not captured in this repository.",
    'To capture them, run `teddy capture install`.',
  ],
  NOT_APPROVED: [
    'Nobody approved an action, a tool call, a deletion, or a text that came from a remote.',
    'Answer the question on a terminal, pass `-y`, or accept the text with `teddy global trust`.',
  ],
  NO_MODEL: [
    'No model is configured. Your message is committed, except with `--instead`, which leaves the plan pending.',
    'Set `OPENAI_API_KEY`, or `OPENAI_BASE_URL` and `teddy.model`; or answer by hand with `teddy plan --from <file>`. With `--instead`, send the message again.',
  ],
  MODEL_AUTH: [
    'The endpoint rejected the key.',
    'Check `OPENAI_API_KEY`, or the key that `git credential` stores; `teddy config` shows where the key comes from.',
  ],
  MODEL_NOT_FOUND: [
    'The endpoint does not have the model, or the URL is wrong.',
    'Check `teddy.model` and `OPENAI_BASE_URL`.',
  ],
  MODEL_RATE_LIMIT: ["You have reached the endpoint's rate limit.", 'Wait, then run `teddy plan` without `-m`.'],
  MODEL_FAILED: [
    'The endpoint answered with an error, or the model got stuck.',
    '`teddy plan` without `-m` asks again.',
  ],
  MODEL_OVERFLOW: [
    "The endpoint reports that the request is longer than the model's context window.",
    'Lower `teddy.contextTokens`, or show fewer files; then send your message again with `-m`. Without `-m`, the same request is sent again.',
  ],
  MODEL_UNREACHABLE: [
    'The endpoint cannot be reached.',
    'Check the network and `OPENAI_BASE_URL`; then `teddy plan` without `-m` asks again.',
  ],
  MODEL_STUCK: [
    'In a conversation, the model made the same failing call three times, made ten failing calls in a row, or made 50 calls without an answer. The whole conversation is kept.',
    'Say something else, or choose another model; `teddy resume` lets the model continue.',
  ],
  MODEL_INTERRUPTED: [
    'The answer was cut off, or the endpoint ended it abnormally, for example with `content_filter`. The part that arrived is kept; if it is a complete plan, the plan stays pending and is not run.',
    '`teddy plan` without `-m` asks again, with the same request; `teddy show` shows the plan, if it is complete.',
  ],
  EMPTY_ANSWER: ['The model gave an empty answer.', '`teddy plan` without `-m` asks again.'],
  PAGE_FAILED: ['A page could not be fetched.', 'Check the URL; the report has the reason.'],
  SERVER_UNREACHABLE: [
    '`teddy serve` does not answer at the URL given with `--server`.',
    'Start the server, or omit `--server`.',
  ],
  REMOTE_UNREACHABLE: [
    'The remote cannot be reached.',
    "Check the network and the remote's URL, then run the command again.",
  ],
  REMOTE_REFUSED: [
    'The remote refused the push. Nothing was changed there.',
    "Check the remote's rules: protected branches, hooks, quotas.",
  ],
  INTERRUPTED: ['You interrupted the command.', 'Run it again to continue. `teddy status` shows what is unfinished.'],
};

export function renderErrors(): string {
  const codes = Object.entries(exitCodes) as [ErrorCode, number][];
  return [
    `# Errors\n\n${generated}`,
    'An error message says what happened, with a code in brackets, and what to do next:\n',
    '```\nerror: Turn 01 has a plan but no report. [PLAN_PENDING]\nhint:  Run `teddy execute` first, or `teddy show 01` to read the plan.\n```\n',
    'With `--json`, the error is a document on stdout. Codes and exit codes do not change between versions.\n',
    '## Exit codes\n',
    renderTable(
      ['code', 'meaning'],
      [...exitMeanings].map(([exit, meaning]) => [String(exit), meaning]),
    ),
    '## Error codes\n',
    renderTable(
      ['error', 'exit code', 'meaning', 'what to do'],
      codes.map(([name, exit]) => [code(name), String(exit), ...explanations[name]]),
    ),
  ].join('\n');
}
