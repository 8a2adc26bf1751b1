import { Command, Option } from 'clipanion';
import { composeText } from '../app.ts';
import { TeddyError } from '../errors.ts';
import type { Project } from '../ports.ts';
import type { ExecuteRequest } from '../workflow/execute-plan.ts';
import { parseActionList } from './action-list.ts';
import { requireOne } from './plan-options.ts';
import { showExecuted, toExecutedJson, toExitCode } from './render-executed.ts';
import { TeddyCommand, withInterrupt } from './teddy-command.ts';
import { toVisible, type Terminal } from './terminal.ts';

/** Loaded with the command only: comparing texts takes its time to load. */
type Approval = typeof import('./approval.ts');

interface Asking {
  terminal: Terminal;
  project: Project;
  signal: AbortSignal;
}

export class SessionExecuteCommand extends TeddyCommand {
  static override paths = [['session', 'execute']];
  static override usage = Command.Usage({
    category: 'Start',
    description: 'Run the pending plan, with a yes or no for each action.',
    details: `
      The whole plan is checked before anything is asked. It ends with one commit: the report, and exactly the code that changed.

      Exit codes: 0: done; 1: an action or the validation failed; 3: there is no plan; 4: not approved; 130: interrupted.
    `,
    examples: [
      ['Decide action by action', '$0 session execute'],
      ['Approve everything', '$0 session execute -y'],
      ['Only the first and the third action', '$0 session execute --only 1,3'],
      ['Run nothing and close the turn', '$0 session execute --reject="not what I meant"'],
    ],
  });

  session = Option.String('-s,--session', {
    description: 'A session id or a unique part of it, a branch, or a session directory.',
  });
  yes = Option.Boolean('-y,--yes', false, {
    description: 'Approve every action. Memos have a yes of their own: --memos=yes.',
  });
  only = Option.String('--only', {
    description: 'Run these actions alone, by number: 1,3-5. It approves none of them.',
  });
  skip = Option.String('--skip', { description: 'Run all actions but these.' });
  reject = Option.String('--reject', {
    tolerateBoolean: true,
    description: 'Run nothing and close the turn; the reason goes into the report.',
  });
  memos = Option.String('--memos', { description: 'Take or discard the memos that the plan proposes.' });

  protected run(terminal: Terminal): Promise<number> {
    requireOne({ '-y': this.yes, '--reject': this.reject !== undefined && this.reject !== false });
    const rejects = this.reject !== undefined && this.reject !== false;
    requireOne({ '--only': this.only !== undefined, '--reject': rejects });
    requireOne({ '--skip': this.skip !== undefined, '--reject': rejects });
    const selection = { only: parseActionList('--only', this.only), skip: parseActionList('--skip', this.skip) };
    if (this.memos !== undefined && this.memos !== 'yes' && this.memos !== 'no') {
      throw new TeddyError('USAGE', `--memos=${this.memos} is not known.`, 'It is yes or no.');
    }
    // Loaded while git is asked about the repository.
    const loading = Promise.all([import('../workflow/execute-plan.ts'), import('./approval.ts')]);
    return withInterrupt((signal) =>
      this.withProject(terminal, async (project) => {
        const [{ executePlan }, approval] = await loading;
        const request = { ...this.toRequest({ terminal, project, signal }, approval), ...selection };
        const executed = await executePlan(project, request);
        if (this.json) this.printJson(terminal, 'execute', toExecutedJson(executed));
        else showExecuted(terminal, executed);
        return toExitCode(executed, request.reject !== undefined);
      }),
    );
  }

  private toRequest({ terminal, project, signal }: Asking, approval: Approval): ExecuteRequest {
    const { askingApprover, askMemos, flagApprover } = approval;
    const canAsk = terminal.isInteractive && !this.json;
    const tools = {
      terminal,
      signal,
      edit: (initial: string, fileName: string) => composeText(project, process.env, initial, fileName),
      page: (text: string) => this.page(terminal, project, text),
    };
    const reason = this.reject === true ? '' : this.reject === false ? undefined : this.reject;
    return {
      selector: this.session,
      approver: this.yes ? flagApprover(terminal, this.json) : canAsk ? askingApprover(tools) : null,
      memos:
        this.memos !== undefined
          ? { kind: this.memos === 'yes' ? 'yes' : 'no' }
          : canAsk
            ? { kind: 'ask', ask: (changes) => askMemos(terminal, signal, changes) }
            : { kind: 'none' },
      reject: reason,
      signal,
      onStart: ({ line, turn, plan }) => {
        if (!this.json)
          terminal.say(
            terminal.style('dim', `Turn ${turn} of ${line.session}: ${toVisible(plan.plan.title)}`, 'stderr'),
          );
      },
    };
  }
}
