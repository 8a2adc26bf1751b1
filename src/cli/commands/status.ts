/** Reports in a few lines where you are in a session. */
import { Command } from 'clipanion';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import type { FailedOutcome, Status } from '../../workflow/review/read-status.ts';
import { hookSource, openAgentSetup, openCapture } from '../../app.ts';
import type { BrokenHook } from '../../workflow/hooks/check.ts';
import type { RecentCapture } from '../../workflow/capture/capture.ts';
import { helpWidth } from '../command-help.ts';
import { TeddyCommand, type Terminal, usage } from '../teddy-command.ts';
import { countOf } from '../../session/spending/describe-spending.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { toVisible } from '../../session/text/visible-text.ts';

export class StatusCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Show where you are, what is pending, and what to do next.',
    details: `
      Describes the session's branch that HEAD is on and its current turn, or your newest open session if HEAD is
      elsewhere. \`teddy\` alone does the same. Also reports teddy's git hooks, and the capture of other agents, if
      they do not work. Nothing changes.
    `,
    examples: [['Where am I?', '$0 status']],
  });

  protected override showsSilentAgents = true;
  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, (project) => this.show(terminal, project));
  }

  protected async show(terminal: Terminal, project: Project): Promise<number> {
    const { readStatus } = await import('../../workflow/review/read-status.ts');
    const [status, capture, brokenHooks] = await Promise.all([
      readStatus(project),
      this.readCaptured(project),
      this.readBrokenHooks(project),
    ]);
    if (this.json) this.printJson(terminal, 'status', { ...status, ...capture, brokenHooks });
    else terminal.print(renderStatus(terminal, status, { ...capture, brokenHooks }));
    await this.sweepInBackground(project);
    return 0;
  }

  private async readBrokenHooks(project: Project): Promise<BrokenHook[]> {
    const { findBrokenHooks } = await import('../../workflow/hooks/check.ts');
    try {
      return await findBrokenHooks(project, hookSource(this.context.main, this.context.env));
    } catch (error) {
      // Prints the status even when teddy's own hook scripts are missing; `teddy doctor` reports them.
      if (error instanceof TeddyError && error.code === 'FILE_NOT_FOUND') return [];
      throw error;
    }
  }

  private async readCaptured(project: Project): Promise<CapturedStatus> {
    const { exists, paused } = await project.spool.look();
    if (!exists) return { captured: [], capturePaused: false, captureWarnings: [] };
    const [{ listRecentCaptures }, { readCaptureStatus }] = await Promise.all([
      import('../../workflow/capture/capture.ts'),
      import('../../workflow/capture/status.ts'),
    ]);
    const capture = openCapture(project, this.context.env);
    const [captured, { warnings }] = await Promise.all([
      listRecentCaptures(project, capture),
      readCaptureStatus(project, await openAgentSetup(this.context.main, this.context.env), capture),
    ]);
    return { captured, capturePaused: paused, captureWarnings: warnings };
  }
}

interface CapturedStatus {
  captured: RecentCapture[];
  capturePaused: boolean;
  /** Sentences about broken parts of capture, each with a fix. */
  captureWarnings: string[];
}

/** `teddy` without a command: shows the status, and the commands to begin with where there is no session yet. */
export class BareTeddyCommand extends StatusCommand {
  static override paths = [Command.Default];
  static override usage = undefined as never;

  protected override run(terminal: Terminal): Promise<number> {
    return this.withProjectIfAny(terminal, async (project) => {
      const isNew = project === null || (!this.json && (await hasNoSession(project)));
      const help = isNew ? await this.context.help?.([], helpWidth(terminal)) : undefined;
      if (help !== undefined) terminal.print(project === null ? help : `${help}\n`);
      return project === null ? 0 : this.show(terminal, project);
    });
  }
}

async function hasNoSession(project: Project): Promise<boolean> {
  const { listMainLines } = await import('../../session/lines/main-lines.ts');
  return (await listMainLines(project, { archived: true })).length === 0;
}

function renderStatus(
  terminal: Terminal,
  status: Status,
  { captured, capturePaused, captureWarnings, brokenHooks }: CapturedStatus & { brokenHooks: BrokenHook[] },
): string {
  const { next } = status;
  const rows = [
    describeHead(terminal, status),
    ...describeTurn(status),
    ...status.pendingOn.map((name) => `A plan is waiting on ${toVisible(name)}.`),
    ...describeWaiting(status.waiting),
    ...describeFiles(status),
    ...captured.map(describeCapture),
    ...describeHooks(brokenHooks),
    ...captureWarnings.map((warning) => `Capture: ${toVisible(warning)}`),
    ...(capturePaused ? ['Capturing other agents is paused: `teddy capture resume`.'] : []),
  ];
  const [first, ...others] = next;
  if (first !== undefined) rows.push(`Next: ${toVisible(first)}`);
  for (const other of others) rows.push(`  or: ${toVisible(other)}`);
  return `${rows.join('\n')}\n`;
}

function describeHead(terminal: Terminal, { head, session, line, found }: Status): string {
  const place = head === null ? 'A bare repository' : `On ${terminal.style('bold', toVisible(head))}`;
  if (line === null) return `${place}. No session of yours is open.`;
  if (found === 'detached') return `${place}, at an entry in ${session}.`;
  if (found === 'open')
    return `${place}${head === null ? '' : ", which is not a session's branch"}. The newest open session is ${session}.`;
  return line === `teddy/${session}` ? `${place}.` : `${place}, a line of ${session}.`;
}

function describeTurn(status: Status): string[] {
  const { startsOn } = status;
  const base = startsOn === null ? [] : [`It starts on top of ${startsOn}, which has not landed.`];
  return [...describeState(status), ...base];
}

function describeState(status: Status): string[] {
  const { line, turn, plan, question, handedIn, verdict, outcome, notRun, isInterrupted, executedBy } = status;
  const end = describeEnd(status);
  if (line === null) return [];
  if (turn === null) return ['It has no message yet.'];
  if (executedBy !== null) return [`Turn ${turn.turn} is being executed by process ${executedBy}.`];
  if (isInterrupted) return [`The run of turn ${turn.turn} was interrupted.`];
  if (plan !== null) {
    const title = plan.title === null ? '' : `: ${toVisible(plan.title)}`;
    const waits =
      question === null
        ? []
        : [`A question about it is waiting for an answer: ${toVisible(question.split('\n', 1)[0] ?? '')}`];
    if (plan.problems > 0)
      return [
        `Turn ${turn.turn} has a plan that is not valid${title} (${countOf(plan.problems, 'problem')}).`,
        ...waits,
      ];
    const word = verdict === null ? '' : `, ${verdict.verdict} by ${toVisible(verdict.author.name)}`;
    return [
      `Turn ${turn.turn} has a plan to execute${title} (${countOf(plan.actions, 'action')})${word}.`,
      ...describeMissingApproval(status),
      ...waits,
    ];
  }
  if (handedIn !== null)
    return [
      `Turn ${turn.turn} has another agent's plan, which is waiting for a verdict: ${toVisible(handedIn.title)}.`,
    ];
  if (turn.status === 'open' && turn.isOfAgent)
    return [`Turn ${turn.turn} has another agent's plan, and the agent has not ended the turn yet.`];
  if (turn.status === 'open')
    return [turn.hasMessage ? `Turn ${turn.turn} is waiting for an answer.` : `Turn ${turn.turn} has no message yet.`];
  if (outcome !== null)
    return [endSentence(`Turn ${turn.turn} ${describeOutcome(outcome)}${end === null ? '' : `. ${end}`}`)];
  const part = notRun === null ? '' : `: ${notRun}`;
  return [`Turn ${turn.turn} is closed${part}.${end === null ? '' : ` ${end}.`}`];
}

function describeMissingApproval({ approval }: Status): string[] {
  if (approval === null) return [];
  if (approval.isOwn) return ['It is waiting for your approval.'];
  return [`It is waiting for the approval of somebody other than ${toVisible(approval.asker ?? 'its author')}.`];
}

/** Returns one line for the newest plan, and says how to list the others. */
function describeWaiting(waiting: Status['waiting']): string[] {
  const [first, ...others] = waiting;
  if (first === undefined) return [];
  const title = first.title === null ? '' : `: ${first.title}`;
  const more = others.length === 0 ? [] : [`${countOf(others.length, 'more plan')} waiting: teddy list --waiting`];
  const by = first.from === null ? '' : ` by ${first.from}`;
  return [toVisible(`Waiting for your approval: ${first.line}, turn ${first.turn}${by}${title}`), ...more];
}

/** Describes where the turn's code went, without a final period. Returns null when the code is nowhere else yet. */
function describeEnd({ hasLanded, lost, committed }: Status): string | null {
  if (lost !== null) {
    const oids = lost.landed.map((oid) => oid.slice(0, 10)).join(', ');
    return `It landed on ${toVisible(lost.branch)} as ${oids}, and ${toVisible(lost.branch)} no longer has all of it`;
  }
  if (hasLanded) return 'All of its code has landed';
  return committed === null ? null : `Its code was committed as ${committed.slice(0, 10)}`;
}

/** Adds a period, unless the person's words already end a sentence. */
function endSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Returns, for example, `failed: action 2 of 3 (EXECUTE npm test), exit 1`. */
function describeOutcome({
  status,
  error,
  failed,
  actions,
  problems,
  isUndone,
  isPartlyUndone,
}: FailedOutcome): string {
  const undone = isUndone ? '; it was undone' : isPartlyUndone ? '; it was partly undone' : '';
  if (status === 'VALIDATION_FAILED') return `was not run: its plan is not valid (${countOf(problems, 'problem')})`;
  if (status === 'SKIPPED') return `is closed: all of its actions were skipped`;
  const why = error === null ? '' : `: ${toVisible(error.trim().split('\n', 1)[0] ?? '')}`;
  if (status === 'ABORTED') return `was aborted${why}${undone}`;
  if (failed === null) return `failed${why}${undone}`;
  const { index, type, target, exitCode } = failed;
  const exit = exitCode === null ? '' : `, exit ${exitCode}`;
  return `failed: action ${index} of ${actions} (${toVisible(`${type} ${target}`.trim())})${exit}${undone}`;
}

function describeFiles({ edits, operation, leftoverWrites, proposedMemos }: Status): string[] {
  const some = edits.slice(0, 3).map(toVisible).join(', ') + (edits.length > 3 ? ', ...' : '');
  return [
    ...(operation === null ? [] : [`A ${operation} is in progress: finish or abort it with git.`]),
    ...(edits.length === 0 ? [] : [`${countOf(edits.length, 'file')} edited: ${some}.`]),
    ...(leftoverWrites.length === 0 ? [] : [`${countOf(leftoverWrites.length, 'write session')} left over.`]),
    ...(proposedMemos === 0 ? [] : [`${countOf(proposedMemos, 'memo')} proposed by agents: teddy memo list`]),
  ];
}

/** Returns at most one line, even for several broken hooks; `teddy doctor` lists them all. */
function describeHooks([first, ...others]: BrokenHook[]): string[] {
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : `, and ${countOf(others.length, 'other fault')}`;
  return [`Hooks: ${toVisible(`${first.path} ${first.what}`)}${more}: \`teddy hooks install\`.`];
}

function describeCapture({ agent, line, turn, model, awaitsVerdict }: RecentCapture): string {
  const by = model === null ? agent : `${agent}, ${model}`;
  const at = `-s ${toShellWord(line)}`;
  const waits = awaitsVerdict
    ? `: its plan is waiting for a verdict, \`teddy show ${at}\`, \`teddy approve ${at}\` or \`teddy reject ${at} -m "what to do instead"\``
    : '';
  return `Captured: ${toVisible(line)}${turn === null ? '' : `, turn ${turn}`} [${toVisible(by)}]${waits}`;
}
