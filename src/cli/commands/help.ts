/** Help for what is not a command by itself: `teddy`, `teddy session`. */
import { TeddyCommand } from '../teddy-command.ts';
import type { Terminal } from '../terminal.ts';

export const summary = `teddy: work with an AI on a code base; every step is a commit on the branch teddy/<session>

Start
  teddy session new <name>          make a session and switch to its branch
  teddy session plan -m <message>   say what you want; the answer is a plan
  teddy session execute             run the plan, asking about each action
  teddy session chat                a conversation, with tools that you approve
Go on
  teddy session resume              do what comes next: run the plan, ask again, or take the next message
  teddy session plan -m <message>   the next turn
  teddy session branch <turn> -m <message>
                                    try again from an earlier turn
  teddy session say -m <text>       add what was said elsewhere, by voice or by text
  teddy session undo [turn]         undo the code changes of a turn
  teddy session restore <turn>      go back to the end of a turn, on a branch of its own
Land
  teddy session land                bring its code to the branch that it started from, as one commit
  teddy session archive <session>   put away its branches; nothing is lost
Look
  teddy status                      where you are, and what comes next; also \`teddy\` alone
  teddy session list                all sessions
  teddy session log                 the steps of this session; --graph: of all its lines
  teddy session show [turn]         message, plan, outcome and diff of a turn
  teddy session diff <turn> [turn]  compare two turns: messages, plans, contexts, code
  teddy session review              the session as Markdown, for a pull request
  teddy session cost                tokens and money, by turn and model
  teddy session context             which files the next turn shows to the model
  teddy session history             all that was said, for a model or for reading
  teddy session verify              check that nothing was rewritten, forged or lost
  teddy session replay              repeat what its reports say was done, and compare
In and out
  teddy session import <file>       make a session from another program's conversation
  teddy session export              export its files, its history or its branch
  teddy session push|pull|sync [remote]
                                    share sessions through any git server
  teddy serve                       the same for other programs, over HTTP
Side by side
  teddy session new <name> --worktree
                                    a session in a work tree of its own
  teddy worktree ...                those work trees: list, remove
Write large files
  teddy write stream --target <file> --operation <create|overwrite|append>
                                    a file that comes on stdin, ended by a line DONE
  teddy write ...                   the same in steps, and what was interrupted: begin, recover, ...
Once
  teddy init                        set up what all sessions share (\`new\` does it too)
  teddy memo ...                    facts that every session is told: list, add, remove, edit
  teddy global ...                  what every session is shown, and agents of your own
  teddy hooks ...                   git hooks: install, uninstall, status
  teddy config [name]               settings, and where each comes from
  teddy completion <bash|zsh|fish>  a script that completes commands and session names
  teddy doctor [--fix]              find what crashes left behind, and fix it

Each has --help. Everything is plain git as well: git log teddy/<session>, git show, git diff.
`;

export class RootHelp extends TeddyCommand {
  static override paths = [['--help'], ['-h'], ['help']];

  protected run(terminal: Terminal): Promise<number> {
    terminal.print(summary);
    return Promise.resolve(0);
  }
}

export class NamespaceHelp extends TeddyCommand {
  static override paths = [['session']];

  protected run(terminal: Terminal): Promise<number> {
    terminal.print(summary);
    return Promise.resolve(0);
  }
}

export const memoSummary = `teddy memo: facts that every session of this repository is told

  teddy memo list                   with their numbers
  teddy memo add <fact>             remember a fact
  teddy memo remove <fact or number>
                                    forget one
  teddy memo edit                   all of them, in your editor

They are in memos.yaml on the branch teddy/global. A plan may propose some too; teddy asks you about those.
`;

export class MemoHelp extends TeddyCommand {
  static override paths = [['memo']];

  protected run(terminal: Terminal): Promise<number> {
    terminal.print(memoSummary);
    return Promise.resolve(0);
  }
}

export const globalSummary = `teddy global: what all sessions of this repository share, on the branch teddy/global

  teddy global edit [file]          global.context: the files that every session is shown (the default);
                                    agents/<name>.md: an agent of your own; memos.yaml
  teddy global remove agents/<name>.md
                                    remove an agent of your own
  teddy global trust                accept what came from elsewhere
`;

export class GlobalHelp extends TeddyCommand {
  static override paths = [['global']];

  protected run(terminal: Terminal): Promise<number> {
    terminal.print(globalSummary);
    return Promise.resolve(0);
  }
}

export const worktreeSummary = `teddy worktree: linked work trees, for several sessions side by side

  teddy worktree list               each with its line, what has changed in it, and whether the line has ended
  teddy worktree remove <session>   remove one that has no changes; the branch stays
  teddy worktree remove --ended     remove those whose line was merged, archived or deleted

They are made by the option --worktree of \`teddy session new\`, \`plan\` and \`execute\`.
`;

export class WorktreeHelp extends TeddyCommand {
  static override paths = [['worktree']];

  protected run(terminal: Terminal): Promise<number> {
    terminal.print(worktreeSummary);
    return Promise.resolve(0);
  }
}

export const writeSummary = `teddy write: large files as plain text, saved as they come, checked, committed once

In one go
  teddy write stream --target <file> --operation <create|overwrite|append>
                                    from stdin, up to a line DONE
  teddy write ask -m <message>      a model writes the files
In steps
  teddy write begin --target <file> --operation <name> --intent <text>
                                    announce a file; prints the id
  teddy write append <id>           add what comes on stdin
  teddy write finalize <id>         check it, put it in place, commit it
Look
  teddy write list                  all that are known
  teddy write status <id>           how far one has come
  teddy write show <id>             what it has received
After an interruption
  teddy write recover [id]          finish, go on, show, export or discard
  teddy write cancel <id>           give one up
  teddy write clean                 clear away what is left over; git keeps its content

\`teddy serve\` offers the same to other programs, over HTTP.
`;

export class WriteHelp extends TeddyCommand {
  static override paths = [['write']];

  protected run(terminal: Terminal): Promise<number> {
    terminal.print(writeSummary);
    return Promise.resolve(0);
  }
}

export const hooksSummary = `teddy hooks: what git itself does for sessions

  teddy hooks install               make git run them in this repository; existing hooks stay, and run first
  teddy hooks uninstall             remove them again
  teddy hooks status                which are installed, and where

prepare-commit-msg and commit-msg name session and turn in your own commits on a line, pre-push verifies what is
pushed of a session, post-checkout says where in a session you are.
`;

export class HooksHelp extends TeddyCommand {
  static override paths = [['hooks']];

  protected run(terminal: Terminal): Promise<number> {
    terminal.print(hooksSummary);
    return Promise.resolve(0);
  }
}
