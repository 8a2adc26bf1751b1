import { hookSource, openAgentSetup, openCapture, openSetupTools } from '../../app.ts';
import { exitCodes, TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import type { Part, Step } from '../../ports/setup.ts';
import { countOf } from '../../session/spending/describe-spending.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import type { PlannedPart } from '../../workflow/setup/set-up.ts';
import { parseSince } from '../arguments.ts';
import { isDebug, type CliContext } from '../context.ts';
import { errorDocument, renderError } from '../render/error.ts';
import { describeChanges, renderDiffs, renderPlan, stepsOf, toPartJson, type Shorten } from '../render/setup.ts';
import { option, TeddyCommand, type Terminal, usage, withInterrupt } from '../teddy-command.ts';

/** The parts of a repository's setup, in their order: the list that init, its removal and the doctor share. */
export async function listParts(project: Project, { main, env }: Pick<CliContext, 'main' | 'env'>): Promise<Part[]> {
  const [{ globalPart, modelPart }, { mcpPart, skillPart, ciPart }, { capturePart }, { hooksPart }, tools, agents] =
    await Promise.all([
      import('../../workflow/setup/set-up.ts'),
      import('../../workflow/setup/file-parts.ts'),
      import('../../workflow/capture/setup-part.ts'),
      import('../../workflow/hooks/install.ts'),
      openSetupTools(project, main, env),
      openAgentSetup(main, env),
    ]);
  return [
    globalPart(project),
    modelPart(project, tools),
    capturePart(project, agents, project.setup),
    hooksPart(project, hookSource(main, env)),
    mcpPart(project, tools),
    skillPart(project, tools),
    ciPart(project, tools),
  ];
}

/** How far back the sessions of other agents are counted, and the offer to record them goes. */
const offeredSince = '30d';

export class InitCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Once',
    description: 'Set up a repository: the model, capture, hooks, agents and CI.',
    details: `
      At a terminal, it asks about each part, and says what it would write: the branch \`teddy/global\`, which all
      sessions share (global); the model to ask (model); capture of the agents on this machine, and a gate for their
      plans (capture); git hooks (hooks); the MCP server for agents (mcp); a skill, and a line in AGENTS.md or
      CLAUDE.md (skill); and the check of pull requests for the forge of \`origin\` (ci).

      Without a terminal, it prints what it would do, and does it only with --yes, which takes the default answers.
      Whatever is set up already stays as it is, and running it again completes what failed or was interrupted.

      With --remove, it takes the parts away again. Files that it has changed are restored byte for byte; in a file
      that somebody has changed since, only teddy's own lines are removed. Sessions, and a \`teddy/global\` with
      content, stay. \`teddy doctor\` checks the same parts.

      Exit codes: 0 done, or nothing to do; 1 a file cannot be written; 2 no such part; 3 a file is in the way, and
      the other parts are done; 4 nobody could be asked.
    `,
    examples: [
      ['Set up a repository, question by question', '$0 init'],
      ['Look first', '$0 init --dry-run'],
      ['Only some parts, with the default answers', '$0 init --only capture,ci --yes'],
      ['Take it all away', '$0 init --remove'],
    ],
  });

  only = option('--only', { value: '<parts>', describe: 'Only these parts, separated by commas.' });
  remove = option('--remove', { describe: 'Take the parts away instead.' });
  dryRun = option('--dry-run', { describe: 'Print the files and their diffs; change nothing.' });
  yes = option('-y,--yes', { describe: 'Take the default answers without asking.' });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { carryOutParts, chooseParts, planParts } = await import('../../workflow/setup/set-up.ts');
      const parts = chooseParts(await listParts(project, this.context), this.only);
      const planned = await planParts(parts, this.remove);
      const shorten = shortener(project.repository.workspace?.root, this.context.env['HOME']);
      const failures = planned.flatMap(({ error }) => error ?? []);
      const taken = new Set<Step>();
      const told: { part: string; text: string }[] = [];
      const isLook = this.dryRun || (this.json && !this.yes);
      // Without an identity, the first part would fail after all the questions.
      if (!isLook && planned.some((one) => one.part.name === 'global' && isOpen(one)))
        await project.repository.store.ident();
      if (!isLook && !this.yes && !terminal.isInteractive) this.refuseUnasked(terminal, planned, shorten);
      const diffs = isLook || this.json ? await renderDiffs(planned, project.masker) : new Map();
      if (this.dryRun && !this.json) terminal.print(renderPlan(planned, { diffs, shorten }));
      if (!isLook) {
        failures.length = 0;
        const say = ({ part }: PlannedPart, text: string) => {
          told.push({ part: part.name, text });
          if (!this.json) terminal.say(toVisible(`${part.name.padEnd(8)} ${text}`));
        };
        await withInterrupt(terminal, 'teddy init --dry-run', (signal) =>
          carryOutParts(planned, {
            decide: async (one, step) =>
              this.yes
                ? isUsual(step)
                : this.isOffered(one, step) && ask(terminal, signal, one, step, { shorten, isRemoval: this.remove }),
            tell: say,
            onDone: (one, step) => {
              taken.add(step);
              const changes = describeChanges(step.changes, shorten);
              if (!this.json && changes !== '') terminal.print(`${one.part.name.padEnd(8)} done: ${changes}\n`);
            },
            onFailed: (error) => {
              failures.push(error);
              if (!this.json) renderError(terminal, error, { json: false, debug: isDebug(terminal.context) });
            },
          }),
        );
      }
      if (this.json)
        this.printJson(terminal, 'init', {
          removal: this.remove,
          parts: planned.map((one) => toPartJson(one, taken, diffs)),
          told,
          failures: failures.map(errorDocument),
        });
      else if (!isLook) {
        if (taken.size + failures.length === 0) terminal.print(planned.some(isOpen) ? nothingDone : nothingToDo);
        if (!this.remove) await offerSweep(terminal, project);
      }
      const [failed] = failures;
      return failed === undefined ? 0 : exitCodes[failed.code];
    });
  }

  /** An offer that the user has declined in a part that is set up is not made again, unless the user names the part. */
  private isOffered({ state }: PlannedPart, step: Step): boolean {
    return isUsual(step) || state !== 'set-up' || this.only !== undefined;
  }

  /** Throws NOT_APPROVED, after showing the plan, unless there is nothing to do. */
  private refuseUnasked(terminal: Terminal, planned: readonly PlannedPart[], shorten: Shorten): void {
    if (!planned.some((one) => one.error !== null || isOpen(one))) return;
    terminal.say(renderPlan(planned, { shorten }).trimEnd());
    const only = this.only === undefined ? '' : ` --only ${planned.map(({ part }) => part.name).join(',')}`;
    const command = `teddy init${this.remove ? ' --remove' : ''}${only}`;
    throw new TeddyError(
      'NOT_APPROVED',
      'Nothing was changed: there is no terminal in which to ask you.',
      `To do it: \`${command} --yes\`. To see the files first: \`${command} --dry-run\`.`,
    );
  }
}

const nothingDone = 'Nothing was changed.\n';
const nothingToDo = 'Nothing to do. `teddy init --dry-run` lists the parts.\n';

function isUsual({ isExtra }: Step): boolean {
  return isExtra !== true;
}

/** Returns true if something is left to do that is not only an offer. */
function isOpen({ plan }: PlannedPart): boolean {
  return stepsOf(plan).some(isUsual);
}

/** Imports nothing by itself: the sessions may be many, or somebody else's. */
async function offerSweep(terminal: Terminal, project: Project): Promise<void> {
  if (!(await project.spool.look()).exists) return;
  const { countUncaptured } = await import('../../workflow/capture/status.ts');
  const capture = openCapture(project, terminal.context.env);
  const count = await countUncaptured(project, capture, parseSince(offeredSince, project.clock.now().getTime()));
  if (count === 0) return;
  const found = `${countOf(count, 'session')} from the last 30 days that teddy has not recorded`;
  terminal.say(`Agents have ${found}. To record them: teddy capture sweep --since ${offeredSince}`);
}

/** Omits the work tree's path, and writes the home directory as `~`. */
function shortener(root: string | undefined, home: string | undefined): Shorten {
  return (text) => {
    const short = root === undefined ? text : text.replaceAll(`${root}/`, '');
    return home === undefined || home.length < 2 ? short : short.replaceAll(`${home}/`, '~/');
  };
}

async function ask(
  terminal: Terminal,
  signal: AbortSignal,
  { part }: PlannedPart,
  step: Step,
  { shorten, isRemoval }: { shorten: Shorten; isRemoval: boolean },
) {
  const { askYes } = await import('../ask/finish-write.ts');
  const changes = describeChanges(step.changes, shorten);
  const question = `${part.name.padEnd(8)} ${toVisible(step.does)}?${changes === '' ? '' : ` It ${changes}.`} [${isUsual(step) ? 'Y/n' : 'y/N'}] `;
  const again = `teddy init${isRemoval ? ' --remove' : ''}`;
  return askYes(terminal, signal, question, isUsual(step), `What was done stays. \`${again}\` asks about the rest.`);
}
