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
    description: 'Have a model write files, and commit each one when it is finished.',
    details: `
      The model announces each file with one small call, which you approve, and sends its content as plain text. teddy
      saves the content as it arrives, checks it, and commits it to the session's branch that HEAD is on, or else to a
      session named \`writes\`; problems are sent back to the model, at most twice.

      Prints \`<path> <commit>\` for each file. If the answer has no file, teddy prints the answer. It is a turn of the
      session, like one of \`teddy chat\`: your message is committed before the model is asked, the model sees the
      session's context and the conversation so far, and its answer is saved. In this turn, the model can do nothing but
      write files.

      Ctrl-C or a lost connection loses nothing that has arrived: with \`--resume <id>\` the model continues a file,
      and then its answer to your message; \`teddy write ask\` without a message asks for the answer to the message
      that is waiting.

      Exit codes: 0 done; 1 the content stayed invalid, or never ended; 2 wrong usage; 3 another session is active; 4
      not approved; 5 the model failed.
    `,
    examples: [
      ['Write a file', '$0 write ask -m "Write docs/guide.md: how to install and use the tool"'],
      ['In a script', '$0 write ask -y --json -m "Write data/cities.json: the 50 largest cities"'],
      ['Continue after a lost connection', '$0 write ask --resume 3b241101-e2bb-4255-8caf-4136c566a962'],
    ],
  });

  message = option('-m,--message', { value: '<text>', describe: 'What you want, in your words.' });
  yes = option('-y,--yes', { describe: 'Approve every file.' });
  resume = option('--resume', {
    value: '<id>',
    describe: 'Continue this interrupted write session.',
    excludes: ['-m', '-s'],
  });
  session = sessionOption();
  model = modelOption();
  provider = option('--provider', {
    value: '<name>',
    describe: 'A provider that can call tools: openai (default), anthropic, ...',
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

  /**
   * Throws NOT_APPROVED for files that nobody could approve, before teddy calls a model and the user pays for it. A
   * resumed file is already approved.
   */
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

  /** Throws NO_MODEL, and USAGE for a provider that cannot call tools. */
  private async chooseCaller(project: Project): Promise<ChosenModel & { model: Model }> {
    const { model: name, provider } = this;
    const stream = this.noStream ? false : undefined;
    const chosen = await chooseFromFlags(project, this.context, { provider, model: name, stream, inEditor: false });
    if (isServer(chosen) && chosen.model !== null) return { ...chosen, model: chosen.model };
    const hint = 'To write content of your own: `teddy write stream --target <file> --operation create`.';
    if (chosen.missing === null) {
      const message = `The provider ${chosen.provider} cannot call tools, so it cannot write files.`;
      throw new TeddyError('USAGE', message, `Use a model: --provider openai. ${hint}`);
    }
    throw new TeddyError(
      'NO_MODEL',
      chosen.missing.message,
      `Set OPENAI_API_KEY, or OPENAI_BASE_URL and \`git config teddy.model <name>\` for another endpoint. ${hint}`,
    );
  }
}
