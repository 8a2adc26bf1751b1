import { exitCodes, TeddyError } from '../../../errors.ts';
import type { Selection } from '../../../workflow/run/select-actions.ts';
import { parseActionList, type ExecutionOptions } from './execution-options.ts';
import { interruptedChoices } from '../../../workflow/line/unfinished-run.ts';
import { requireOne } from '../../plan-options.ts';
import { parseReplans } from './replanning.ts';
import { option, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class SessionExecuteCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Start',
    description: 'Run the pending plan, and ask about each action.',
    details: `
      teddy checks the whole plan before it asks anything. A run ends with one commit: the report, and exactly the
      code that changed.

      If the plan is not valid, the report explains why. With \`--replan\`, the model is then asked for another plan,
      each time in a new turn, until a plan is valid, the tries or the budget are used up, or the same problems occur
      twice. The last executed plan determines the exit code.

      Exit codes: 0 done; 1 an action or the validation failed; 3 there is no plan, or its approval is missing; 4 not
      approved; 5 the model returned no other plan; 130 interrupted.
    `,
    examples: [
      ['Decide action by action', '$0 execute'],
      ['Approve everything', '$0 execute -y'],
      ['Only the first and the third action', '$0 execute --only 1,3'],
      ['See what it would do', '$0 execute --dry-run'],
      ['Run nothing and close the turn', '$0 execute --reject="not what I meant"'],
    ],
  });

  session = sessionOption();
  yes = option('-y,--yes', { describe: 'Approve every action, but no memos; --memos=yes approves those.' });
  only = option('--only', {
    value: '<list>',
    describe: 'Run only these actions, by number: 1,3-5. This does not approve them.',
  });
  skip = option('--skip', { value: '<list>', describe: 'Run all actions except these.' });
  reject = option('--reject', {
    value: '[=reason]',
    describe: 'Run nothing and close the turn; the report records the reason.',
    excludes: ['-y', '--only', '--skip', '--rollback', '--interrupted'],
  });
  memos = option('--memos', { value: '<yes|no>', describe: 'Accept or discard the memos that the plan proposes.' });
  replan = option('--replan', {
    value: '<n>',
    describe:
      'If the plan is not valid, ask for another one, at most this many times (0 to 10). Default: 0, or 2 in a terminal.',
  });
  dryRun = option('--dry-run', {
    describe: 'Show what the plan would do, with one diff per file, without changing anything.',
    excludes: ['-y', '--reject', '--memos', '--rollback', '--worktree', '--interrupted'],
  });
  worktree = option('--worktree', { describe: 'Use a linked work tree for the session.' });
  rollback = option('--rollback', { describe: 'If the run does not finish, restore every file that it changed.' });
  interrupted = option('--interrupted', {
    value: '<choice>',
    describe: 'What to do about a run that was killed: resume, rollback or keep. In a terminal, teddy asks.',
  });

  protected override trustsHead = ({ isInteractive }: Terminal) => (isInteractive ? undefined : 'once');

  protected run(terminal: Terminal): Promise<number> {
    const options = this.toOptions(terminal);
    if (this.dryRun) return this.preview(terminal, options.selection);
    // Loads while git reads the repository.
    const loading = Promise.all([import('./execute-and-show.ts'), import('../../ask/typed-ahead.ts')]);
    return this.withProjectAndSignal(terminal, 'teddy execute', async (project, signal) => {
      await this.offerOrphans(terminal, project, signal);
      const [{ executeAndShow }, { keepingTypedAhead }] = await loading;
      // A key pressed before the question appeared approves nothing.
      const asking = keepingTypedAhead(terminal, () => undefined);
      if (this.worktree) {
        const { openWorkTree } = await import('../../../workflow/line/open-work-tree.ts');
        this.session = (await openWorkTree(project, this.session, { needsPlan: true })).ref;
      }
      const page = (text: string) => this.page(terminal, project, text);
      return executeAndShow({ terminal: asking, project, signal, page }, { ...options, selector: this.session });
    });
  }

  /** Reads the options. Throws USAGE. */
  private toOptions(terminal: Terminal): ExecutionOptions {
    const reject = this.reject === true ? '' : this.reject === false ? undefined : this.reject;
    const replans = parseReplans(this.replan);
    const interrupted = parseWord('--interrupted', this.interrupted, interruptedChoices);
    const ofThisPlan = {
      '--only': this.only !== undefined,
      '--skip': this.skip !== undefined,
      '--reject': reject !== undefined,
      '--dry-run': this.dryRun,
      '--interrupted': interrupted !== undefined,
    };
    // `--replan` is about a future plan, so it excludes options about this plan's actions.
    if ((replans ?? 0) > 0) refuseTogetherWith('--replan', ofThisPlan);
    const { '--only': only, '--skip': skip } = ofThisPlan;
    const decided = { '-y': this.yes, '--only': only, '--skip': skip };
    const isRolledBack = { '--memos': this.memos !== undefined, '--rollback': this.rollback };
    if (interrupted === 'rollback') refuseTogetherWith('--interrupted=rollback', { ...decided, ...isRolledBack });
    const isAboutThisPlan = Object.values(ofThisPlan).includes(true);
    return {
      yes: this.yes,
      selection: { only: parseActionList('--only', this.only), skip: parseActionList('--skip', this.skip) },
      reject,
      memos: parseWord('--memos', this.memos, ['yes', 'no']),
      replans: isAboutThisPlan ? 0 : replans,
      rollback: this.rollback,
      interrupted,
      printJson: this.json ? (schema, value) => this.printJson(terminal, schema, value) : null,
    };
  }

  private preview(terminal: Terminal, selection: Selection): Promise<number> {
    const loading = Promise.all([import('../../../workflow/run/preview-plan.ts'), import('../../render/preview.ts')]);
    return this.withProject(terminal, async (project) => {
      const [{ previewPlan }, { renderPreview, showFindings, toPreviewJson }] = await loading;
      const preview = await previewPlan(project, { selector: this.session, ...selection });
      if (this.json) this.printJson(terminal, 'execute-preview', toPreviewJson(preview));
      else {
        await this.page(terminal, project, renderPreview(terminal, preview));
        showFindings(terminal, preview);
      }
      return preview.problems.length === 0 ? 0 : exitCodes.VALIDATION_FAILED;
    });
  }
}

/** Reads an option that takes one of the given words. Throws USAGE for any other word. */
function parseWord<Word extends string>(
  flag: string,
  text: string | undefined,
  words: readonly Word[],
): Word | undefined {
  if (text === undefined) return undefined;
  const word = words.find((one) => one === text);
  if (word !== undefined) return word;
  throw new TeddyError(
    'USAGE',
    `${flag} does not accept ${text}.`,
    `Use ${words.slice(0, -1).join(', ')} or ${words.at(-1)}.`,
  );
}

/** Throws USAGE when the user gave one of these options together with `flag`. */
function refuseTogetherWith(flag: string, given: Record<string, boolean>): void {
  for (const [other, isGiven] of Object.entries(given)) requireOne({ [other]: isGiven, [flag]: true });
}
