import type { ChosenModel } from '../../../app.ts';
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import type { Chat } from './chat/exchange.ts';
import { chooseFromFlags } from '../../ask/choose-model.ts';
import { openChat } from './chat/open.ts';
import { AskingCommand } from '../../plan-options.ts';
import { option, type Terminal, usage, withInterrupt } from '../../teddy-command.ts';

export class SessionChatCommand extends AskingCommand {
  static override usage = usage({
    category: 'Talk',
    description: 'Talk with the model, which can use tools with your approval.',
    details: `
      teddy commits each message before it asks the model, each batch of calls with all its results as soon as the
      batch is done, and the answer when it is complete. The model reads, lists and searches files without asking; you
      are asked about each command and each file that it writes. If you deny a call, the turn ends.

      In a terminal it is a conversation: /help lists its commands, Ctrl-C stops an answer, and Ctrl-D leaves. With
      \`-m\` it is one exchange: the answer goes to stdout, everything else to stderr. With \`--provider manual\`, no
      model is asked: the message is committed, and you add the answer with \`teddy plan --from\`.

      Exit codes: 0 answered, or committed for an answer by hand; 3 a plan is pending; 4 a call was denied, by you or
      because nobody could be asked; 5 the model failed; 130 interrupted.
    `,
    examples: [
      ['Talk', '$0 chat'],
      ['One question', '$0 chat -m "Where is the port set?"'],
      ['The output of another program', 'git diff | $0 chat -m -'],
      ['In a script, approving every call', '$0 chat -y -m "Run the tests and say what fails"'],
    ],
  });

  message = option('-m,--message', { value: '<text>', describe: 'Send one message only; - reads it from stdin.' });
  yes = option('-y,--yes', { describe: 'Approve every call, and every action of /execute.' });

  protected run(terminal: Terminal): Promise<number> {
    // Loads while git reads the repository.
    void import('../../../workflow/chat/turn.ts');
    return this.withProject(terminal, (project) =>
      this.message === undefined ? this.converse(terminal, project) : this.askOnce(terminal, project, this.message),
    );
  }

  private async converse(terminal: Terminal, project: Project): Promise<number> {
    if (this.json || !terminal.isInteractive) throw toNoTerminal(this.json);
    const [{ chatLoop }, { openChatPrompt }, { keepingTypedAhead }] = await Promise.all([
      import('./chat/loop.ts'),
      import('./chat/prompt.ts'),
      import('../../ask/typed-ahead.ts'),
    ]);
    const prompt = openChatPrompt(terminal);
    const asking = keepingTypedAhead(terminal, (text) => prompt.unread(text));
    try {
      await this.offer(asking, project);
      const chat = await this.toChat(asking, project);
      const page = (text: string) => this.page(terminal, project, text);
      return await chatLoop({
        ...chat,
        prompt,
        selector: this.session,
        page,
        choose: (model) => this.choose(project, model),
      });
    } finally {
      prompt.close();
    }
  }

  private offer(terminal: Terminal, project: Project): Promise<void> {
    return withInterrupt(terminal, 'teddy write list', (signal) => this.offerOrphans(terminal, project, signal));
  }

  private askOnce(terminal: Terminal, project: Project, given: string): Promise<number> {
    return withInterrupt(terminal, 'teddy show', async (signal) => {
      const isRead = given === '-';
      await this.offerOrphans(terminal, project, signal, !isRead);
      const message = isRead ? await (await import('../../ask/read-input.ts')).readMessage(terminal, signal) : given;
      const [{ chatOnce }, { keepingTypedAhead }] = await Promise.all([
        import('./chat/once.ts'),
        import('../../ask/typed-ahead.ts'),
      ]);
      const chat = await this.toChat(
        keepingTypedAhead(terminal, () => undefined),
        project,
        !isRead,
      );
      const printJson = this.json ? (value: object) => this.printJson(terminal, 'chat', value) : null;
      return chatOnce(chat, { message, selector: this.session, signal }, printJson);
    });
  }

  private choose(project: Project, model: string | undefined): Promise<ChosenModel> {
    const { provider, recording } = this;
    const stream = this.noStream ? false : undefined;
    return chooseFromFlags(project, this.context, { provider, model, recording, stream, inEditor: false });
  }

  private async toChat(terminal: Terminal, project: Project, mayAsk = true): Promise<Chat> {
    const { yes, json, noStream, agent, model } = this;
    const choice = await this.choose(project, model);
    return openChat(terminal, project, { agent, choice, yes, json, noStream, mayAsk });
  }
}

function toNoTerminal(isJson: boolean): TeddyError {
  return new TeddyError(
    'USAGE',
    isJson
      ? 'A conversation cannot be printed as JSON, but one exchange can.'
      : 'There is no terminal, and a conversation needs one.',
    'Send one message: -m "..."; -m - reads it from stdin.',
  );
}
