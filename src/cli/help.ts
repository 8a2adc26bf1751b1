/** Help for what is not a command by itself: `teddy`, `teddy session`. */
import { Command } from 'clipanion';
import { TeddyCommand } from './teddy-command.ts';
import type { Terminal } from './terminal.ts';

export const summary = `teddy: work with an AI on a code base; every step is a commit on the branch teddy/<session>

Start
  teddy session new <name>          make a session and switch to its branch
  teddy session plan -m <message>   say what you want; the answer is a plan
  teddy session execute             run the plan, with a yes or no for each action
Go on
  teddy session plan -m <message>   the next turn
  teddy session branch <turn> -m <message>
                                    another attempt from an earlier turn
Look
  teddy session list                all sessions
  teddy session log                 the steps of this session
  teddy session show [turn]         message, plan, outcome and diff of a turn
Once
  teddy init                        make what all sessions share (done by \`new\` too)

Each has --help. Everything is plain git as well: git log teddy/<session>, git show, git diff.
`;

export class RootHelp extends TeddyCommand {
  static override paths = [Command.Default, ['--help'], ['-h'], ['help']];

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
