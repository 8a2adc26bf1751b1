/** Help for what is not a command by itself: `teddy --help`, and each group, such as `teddy session`. */
import type { CommandClass } from 'clipanion';
import type { CliContext } from '../context.ts';
import { TeddyCommand } from '../teddy-command.ts';
import type { Terminal } from '../terminal.ts';

export const summary = `teddy: work with an AI on a code base, one commit for every step

The core loop
  teddy new <name>                  make a session and switch to its branch
  teddy plan -m <message>           say what you want; the answer is a plan
  teddy execute                     run the plan, asking about each action
  teddy land                        bring its code to the branch where it began
  teddy status                      where you are, and what comes next;
                                    \`teddy\` alone says the same
  teddy why <file>:<line>           who asked for this line, and why
  teddy blame <file>                the same, for all lines of a file
  teddy ask <question>              ask about the plan, and leave it as it is
  teddy chat, list, log, show, view
                                    short for \`teddy session chat\`, ..., as are
                                    the first four

Groups
  teddy session ...                 everything else that a session can do
                                    talk: chat, ask, say
                                    go on: resume, branch, undo, rewind
                                    judge: approve, reject
                                    look: view, list, log, show, diff, review,
                                    search, stats, context, history, verify,
                                    replay
                                    share: push, pull, sync, import, open,
                                    export
                                    put away: archive, delete
  teddy memo ...                    facts that every session is told:
                                    list, add, remove
  teddy global ...                  what every session is shown, and agents of
                                    your own: edit, trust
  teddy worktree ...                sessions side by side: remove
  teddy write ...                   large files as plain text: stream, ask,
                                    begin, append, finalize, list, show,
                                    recover, cancel
  teddy hooks ...                   git hooks: install, uninstall
  teddy ci ...                      what a build server checks: verify
  teddy capture ...                 sessions of other agents, while they run:
                                    install, uninstall, status, pause, resume,
                                    sweep

Others
  teddy init                        set up what all sessions share (\`new\` does
                                    it too)
  teddy config [name]               settings, and where each comes from
  teddy models [update]             the models of the endpoint, or a new list of
                                    windows and prices
  teddy serve                       sessions for browsers and other programs,
                                    over HTTP
  teddy mcp                         sessions, plans and memos for agents, over
                                    MCP
  teddy completion <bash|zsh|fish>  a script that completes commands and names
                                    of sessions
  teddy doctor [--fix]              find what crashes left behind, and fix it

\`teddy <group> --help\` lists the commands of a group, and
\`teddy <command> --help\` explains one. Everything is plain git as well:
git log teddy/<session>, git show, git diff.
`;

const groups: Record<string, string> = {
  session: `teddy session: work with a model, turn by turn, on a branch teddy/<session>

The core loop
  teddy session new <name>          make a session and switch to its branch;
                                    --worktree: in a work tree of its own
  teddy session plan -m <message>   say what you want; the answer is a plan;
                                    --instead: in place of the pending one
  teddy session execute             run the plan, asking about each action
  teddy session land                bring its code to the branch where it began,
                                    as one commit
Talk
  teddy session ask <question>      ask about the plan, and leave it as it is
  teddy session chat                a conversation, with tools that you approve
  teddy session say -m <text>       add what was said elsewhere, by voice or by
                                    text
Go on
  teddy session resume              do what comes next: run the plan, ask again,
                                    or take the next message
  teddy session branch <turn> -m <message>
                                    try again from an earlier turn
  teddy session approve [turn]      approve a plan, under your name
  teddy session reject [turn] -m <text>
                                    reject a plan, and say why
  teddy session undo [turn]         undo the code changes of a turn
  teddy session rewind <turn>       go back to the end of a turn, on a branch of
                                    its own
  teddy session archive [session]   put away its branches; nothing is lost
  teddy session delete <session>    delete its branches here; for 30 days they
                                    can be taken back
Look
  teddy session view [session]      the page of a session in a browser, live
  teddy session list                all sessions
  teddy session log                 the steps of this session; --graph: of all
                                    its lines
  teddy session show [turn]         message, plan, outcome and diff of a turn
  teddy session diff <turn> [turn]  compare two turns: messages, plans,
                                    contexts, code
  teddy session review              the session as Markdown, for a pull request
  teddy session search <text>       what was said, planned, run and written, in
                                    all sessions
  teddy session stats [session]     turns, plans, failures, cost, and lines by
                                    models and people, of all sessions; of one:
                                    tokens and money, by turn and model
  teddy session context             which files the next turn shows;
                                    context add, context drop: change them
  teddy session history             all that was said, for a model or a reader
  teddy session verify              check that nothing was rewritten, forged or
                                    lost
  teddy session replay              repeat what its reports say was done, and
                                    compare
In and out
  teddy session import <file>       make a session from another program's
                                    conversation
  teddy session open <session> --with <agent>
                                    go on with it in Claude Code or Codex
  teddy session export              export its files, its history or its branch
  teddy session push [remote]       send it to a git server
  teddy session pull [remote]       get it from there
  teddy session sync [remote]       both, until it is the same here and there
`,
  memo: `teddy memo: facts that every session of this repository is told

  teddy memo list                   with their numbers
  teddy memo add <fact>             remember a fact
  teddy memo remove <fact or number>
                                    forget one

They are in memos.yaml on teddy/global: \`teddy global edit memos.yaml\` opens it.
A plan may propose some too; teddy asks you about those.
`,
  global: `teddy global: what all sessions share, on the branch teddy/global

  teddy global edit [file]          global.context: the files that every session
                                    is shown (the default); agents/<name>.md: an
                                    agent of your own, which you remove by
                                    saving it empty; memos.yaml
  teddy global trust                accept what came from elsewhere
`,
  worktree: `teddy worktree: linked work trees, for several sessions side by side

  teddy worktree remove <session>   remove one that has no changes; the branch
                                    stays
  teddy worktree remove --ended     remove those whose line was merged, archived
                                    or deleted

The option --worktree of \`teddy session new\`, \`plan\` and \`execute\` makes them;
\`teddy session list --all\` says which session is checked out where.
`,
  write: `teddy write: large files as plain text, checked, and committed once

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
  teddy write list [id]             all that are known, or how far one has come
  teddy write show <id>             what it has received
After an interruption
  teddy write recover [id]          finish, go on, show, export or discard
  teddy write cancel <id>           give one up
  teddy write cancel --ended        clear away what is left over; git keeps its
                                    content

\`teddy serve\` offers the same to other programs, over HTTP.
`,
  capture: `teddy capture: sessions of Claude Code, Codex and others as lines of their own

  teddy capture install             capture them in this repository; --gate: let
                                    plans of Claude Code wait for a verdict
  teddy capture status              whether it works, and for which agents
  teddy capture pause               capture nothing for a while
  teddy capture resume              capture again
  teddy capture sweep               take in what no hook told of; --since 7d:
                                    what was there before, too
  teddy capture uninstall           stop here; --all: also remove the hooks from
                                    your configuration of the agents

Each agent calls a hook that notes its call; teddy then reads the agent's log.
Nothing leaves this machine unless you push it.
`,
  ci: `teddy ci: what a build server checks

  teddy ci verify                   verify and replay the sessions of a change,
                                    and those that its commits have landed

docs/ci.md has the files for GitHub Actions and other servers.
`,
  hooks: `teddy hooks: what git itself does for sessions

  teddy hooks install               make git run them in this repository;
                                    existing hooks stay, and run first
  teddy hooks uninstall             remove them again

prepare-commit-msg and commit-msg name session and turn in your own commits on a
line, pre-push verifies what is pushed of a session, post-checkout says where in
a session you are. \`teddy doctor\` says which are installed, and work.
`,
};

/** Null when the words name neither teddy itself nor a group. */
export function findGroupHelp(words: readonly string[]): string | null {
  const name = words.join(' ');
  if (name === '' || name === 'help') return summary;
  const text = Object.hasOwn(groups, name) ? groups[name] : undefined;
  return text === undefined ? null : `${text}\n\`teddy ${name} <command> --help\` explains a command.\n`;
}

/** The line that its help begins with. */
export function describeGroup(name: string): string {
  return /^teddy [a-z]+: (.*)/.exec(groups[name] ?? '')?.[1] ?? '';
}

/** Each prints its help and exits with 0: `teddy help`, `teddy session`, ... */
export const helpCommands: CommandClass<CliContext>[] = [
  printing(summary, [['--help'], ['-h'], ['help']]),
  ...Object.keys(groups).map((name) => printing(findGroupHelp([name]) ?? '', [[name]])),
];

function printing(text: string, names: string[][]): CommandClass<CliContext> {
  return class extends TeddyCommand {
    static override paths = names;

    protected run(terminal: Terminal): Promise<number> {
      terminal.print(text);
      return Promise.resolve(0);
    }
  };
}
