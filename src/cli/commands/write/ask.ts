import type { ApprovalMode } from '../../ask/approval.ts';
import { TeddyError } from '../../../errors.ts';
import type { ChosenModel } from '../../../app.ts';
import type { Model } from '../../../ports/model.ts';
import type { Project } from '../../../ports/project.ts';
import { chooseFromFlags, isServer } from '../../ask/choose-model.ts';
import { modelOption, noStreamOption } from '../../plan-options.ts';
import { option, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class WriteAskCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'Have a model write files, each committed as it is finished.',
    details: `
      The model announces each file with one small call, which you approve, and sends its content as plain text. That is saved as it comes, checked, and committed to
      the session's branch that HEAD is on, else to a session named \`writes\`; what is wrong with it goes back to the model, twice at most.

      Prints \`<path> <commit>\` for each file. An answer without a file is printed as it is. It is a turn of the session, like one of \`session chat\`: your message is committed before the model is asked, the model is shown the session's context and
      what was said before, and its answer is kept. Writing files is all that the model can do in it.

      Ctrl-C, or a connection that is cut, loses nothing that had come: \`--resume <id>\` has the model go on with a file, and then with its message; \`teddy write ask\` without a message asks for the answer to the one that waits.

      Exit codes: 0 done; 1 the content stayed invalid, or never ended; 2 wrong usage; 3 another session is active; 4 not
      approved; 5 the model failed.
    `,
    examples: [
      ['Write a file', '$0 write ask -m "Write docs/guide.md: how to install and use the tool"'],
      ['In a script', '$0 write ask -y --json -m "Write data/cities.json: the 50 largest cities"'],
      ['Go on after a cut connection', '$0 write ask --resume 3b241101-e2bb-4255-8caf-4136c566a962'],
    ],
  });

  message = option('-m,--message', { value: '<text>', describe: 'What you want, in your words.' });
  yes = option('-y,--yes', { describe: 'Approve every file.' });
  resume = option('--resume', {
    value: '<id>',
    describe: 'Go on with this interrupted write session.',
    excludes: ['-m', '-s'],
  });
  session = sessionOption();
  model = modelOption();
  provider = option('--provider', {
    value: '<name>',
    describe: 'openai (default), anthropic, ...: one that can call tools.',
  });
  noStream = noStreamOption();

  protected run(terminal: Terminal): Promise<number> {
    const approval = this.toApproval(terminal);
    void import('../../../workflow/chat/ask-for-files.ts');
    return this.withProjectAndSignal(terminal, 'teddy write list', async (project, signal) => {
      const choice = await this.chooseCaller(project);
      if (this.resume === undefined) await this.offerOrphans(terminal, project, signal);
      const { askAndWrite } = await import('./ask-and-write.ts');
      return askAndWrite(terminal, project, {
        choice,
        message: this.message,
        resume: this.resume,
        session: this.session,
        approval,
        signal,
        printJson: this.json ? (schema, value) => this.printJson(terminal, schema, value) : null,
      });
    });
  }

  /** Before a model is asked, and paid, for what could not be written. What is gone on with was approved already. */
  private toApproval(terminal: Terminal): ApprovalMode {
    if (this.yes) return 'all';
    if (terminal.isInteractive) return 'ask';
    if (this.resume !== undefined) return 'none';
    throw new TeddyError(
      'NOT_APPROVED',
      'Each file has to be approved, and there is no terminal to ask in.',
      'Use -y to approve every file that the model wants to write.',
    );
  }

  /** Throws NO_MODEL, and USAGE for a provider that calls no tools. */
  private async chooseCaller(project: Project): Promise<ChosenModel & { model: Model }> {
    const { model: name, provider } = this;
    const stream = this.noStream ? false : undefined;
    const chosen = await chooseFromFlags(project, this.context, { provider, model: name, stream, inEditor: false });
    if (isServer(chosen) && chosen.model !== null) return { ...chosen, model: chosen.model };
    const hint = 'A content of your own goes through `teddy write stream --target <file> --operation create`.';
    if (chosen.missing === null) {
      const message = `The provider ${chosen.provider} calls no tools, so it cannot write files.`;
      throw new TeddyError('USAGE', message, `Use a model: --provider openai. ${hint}`);
    }
    throw new TeddyError(
      'NO_MODEL',
      chosen.missing.message,
      `Set OPENAI_API_KEY, or OPENAI_BASE_URL and \`git config teddy.model <name>\` for another endpoint. ${hint}`,
    );
  }
}
