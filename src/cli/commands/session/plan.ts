import { TeddyError } from '../../../errors.ts';
import { shortRef } from '../../../names.ts';
import type { Project } from '../../../ports/project.ts';
import { PlanningCommand, requireOne } from '../../plan-options.ts';
import { option, parameter, type Terminal, usage } from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class SessionPlanCommand extends PlanningCommand {
  static override usage = usage({
    category: 'Start',
    description: 'Say what you want; the answer is a plan.',
    details: `
      teddy first commits your own edits to tracked files, as a snapshot, then your message, and only then asks the
      model. With \`--worktree\`, it uses a linked work tree: the one where the branch is checked out, or a new one. It
      refuses if the main work tree is on the branch.

      Without \`-m\`, it asks the model again about a turn that has no answer yet, with exactly the same request.

      If the last plan has not been run, \`--instead\` refuses it: the message is the reason, and the model answers it
      with another plan. In a terminal, teddy asks what to do with a plan; \`--run\` runs it at once, as \`teddy
      execute\` does, with its exit codes.
    `,
    examples: [
      ['Ask for a plan', '$0 plan -m "Add a login route"'],
      ['Ask again after an error', '$0 plan'],
      ['See what would be sent', '$0 plan -m "Add a login route" --dry-run'],
      ['Refuse the pending plan', '$0 plan --instead -m "Keep the old API"'],
      ['Plan and run without being asked', '$0 plan -m "Fix the typo in README.md" --run -y'],
      ['Answer by hand', '$0 plan --from answer.md'],
    ],
  });

  dryRun = option('--dry-run', {
    describe: 'Print what would be sent, without sending or changing anything.',
    excludes: ['--worktree', '--instead', '--run'],
  });
  instead = option('--instead', { describe: 'Refuse the pending plan; the message says what to do instead.' });
  runs = option('--run', { describe: 'Run the plan at once.' });
  yes = option('-y,--yes', { describe: 'With --run: approve every action, but no memos.' });
  worktree = option('--worktree', { describe: 'Use a linked work tree for the session.' });

  protected override trustsHead = ({ isInteractive }: Terminal) =>
    isInteractive || this.edit || this.message === '-' ? undefined : 'once';

  protected run(terminal: Terminal): Promise<number> {
    if (this.yes && !this.runs)
      throw new TeddyError(
        'USAGE',
        '-y needs --run, because it approves the actions in a run.',
        'Add --run, or omit -y.',
      );
    if (this.instead && this.message === undefined && !this.edit)
      throw new TeddyError(
        'EMPTY_MESSAGE',
        '--instead needs a message that says what to do instead.',
        'Pass it with -m, or write it with --edit.',
      );
    // Loads while git reads the repository.
    void import('../../../workflow/turn/plan.ts');
    return this.withProjectAndSignal(terminal, 'teddy plan', async (project, signal) => {
      if (!this.dryRun) await this.offerOrphans(terminal, project, signal);
      const message = await this.composeMessage(terminal, project, signal);
      if (this.worktree && message?.trim() !== '') {
        const { openWorkTree } = await import('../../../workflow/line/open-work-tree.ts');
        this.session = (await openWorkTree(project, this.session, { needsPlan: false })).ref;
      }
      if (!this.dryRun) return this.plan(terminal, project, message, signal);
      const { previewRequest } = await import('../../../workflow/turn/plan.ts');
      const choice = await this.choose(terminal, project, { asksEndpoint: false });
      const log = await previewRequest(project, {
        selector: this.session,
        message,
        agent: this.agent,
        choice,
        approveForeign: this.toForeignApproval(terminal, signal),
      });
      if (this.json) this.printJson(terminal, 'plan-preview', { log });
      else await this.page(terminal, project, terminal.isOutputTty ? toVisible(log) : log);
      return 0;
    });
  }

  private async plan(
    terminal: Terminal,
    project: Project,
    message: string | undefined,
    signal: AbortSignal,
  ): Promise<number> {
    const going = { ...(this.runs ? { run: 'now' as const } : {}), yes: this.yes, isInstead: this.instead };
    try {
      return await this.planAndShow(terminal, project, message, signal, going);
    } catch (error) {
      const canAsk = terminal.isInteractive && !this.json && message !== undefined;
      if (!(error instanceof TeddyError) || error.code !== 'PLAN_PENDING' || !canAsk) throw error;
      const [{ askPending, runPlan }, { findNextStep }] = await Promise.all([
        import('./plan-and-run.ts'),
        import('../../../workflow/turn/find-next-step.ts'),
      ]);
      const step = await findNextStep(project, this.session);
      const choice = step.kind === 'execute' ? await askPending(terminal, signal, step.turn) : null;
      if (choice === null) throw error;
      this.session = shortRef(step.line.ref);
      if (choice === 'instead')
        return this.planAndShow(terminal, project, message, signal, { ...going, isInstead: true });
      if (choice === 'ask') return this.planAndShow(terminal, project, message, signal, { mode: 'ask' });
      const page = (text: string) => this.page(terminal, project, text);
      const exitCode = await runPlan(terminal, project, step, { yes: false, page, signal, printJson: null });
      if (exitCode === 0) return this.planAndShow(terminal, project, message, signal, going);
      terminal.say('Your message was not sent.');
      return exitCode;
    }
  }
}

export class SessionAskCommand extends PlanningCommand {
  static override usage = usage({
    category: 'Talk',
    description: 'Ask about the pending plan, without changing it.',
    details: `
      The model answers in words, which change nothing: the plan stays pending, and any approval of it stays valid.
      Question and answer become part of the plan's turn, and the next plan takes both into account.

      Without a question, it asks the last one again if that has no answer yet.

      Exit codes: 0 answered, or committed for an answer by hand; 2 no question was given; 3 no plan is pending; 5 the
      model failed; 130 interrupted.
    `,
    examples: [
      ['Ask', '$0 ask "Why not in src/app.ts?"'],
      ['Ask again after an error', '$0 ask'],
      ['The output of another program', 'npm test 2>&1 | $0 ask -m -'],
    ],
  });

  question = parameter('question', { optional: true });

  protected run(terminal: Terminal): Promise<number> {
    requireOne({ 'the question': this.question !== undefined, '-m': this.message !== undefined });
    this.message ??= this.question;
    // Loads while git reads the repository.
    void import('../../../workflow/turn/plan.ts');
    return this.withProjectAndSignal(terminal, 'teddy show', async (project, signal) => {
      await this.offerOrphans(terminal, project, signal);
      const message = await this.composeMessage(terminal, project, signal);
      return this.planAndShow(terminal, project, message, signal, { mode: 'ask' });
    });
  }
}
