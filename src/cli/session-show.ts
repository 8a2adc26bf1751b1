import { Command, Option } from 'clipanion';
import type { ActionLog, Report } from '../plan/report.ts';
import type { ShownTurn } from '../workflow/show-turn.ts';
import { colorDiff } from './color-diff.ts';
import { TeddyCommand } from './teddy-command.ts';
import { toVisible, type Terminal } from './terminal.ts';

export class SessionShowCommand extends TeddyCommand {
  static override paths = [['session', 'show']];
  static override usage = Command.Usage({
    category: 'Look',
    description: 'Show a turn: message, plan, outcome and diff.',
    details: 'Without a turn, the last one of the line.',
    examples: [
      ['The last turn', '$0 session show'],
      ['Turn 02', '$0 session show 02'],
    ],
  });

  turn = Option.String({ name: 'turn', required: false });
  session = Option.String('-s,--session', {
    description: 'A session id or a unique part of it, a branch, or a session directory.',
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { showTurn } = await import('../workflow/show-turn.ts');
      const shown = await showTurn(project, { selector: this.session, turn: this.turn });
      if (this.json) this.printJson(terminal, 'session-show', shown);
      else await this.page(terminal, project, renderTurn(terminal, shown));
      return 0;
    });
  }
}

function renderTurn(terminal: Terminal, shown: ShownTurn): string {
  const title = (text: string) => terminal.style('bold', text);
  const quote = (text: string) =>
    toVisible(text.trimEnd())
      .split('\n')
      .map((line) => `  ${line}`.trimEnd())
      .join('\n');
  const said = isTalk(shown) ? shown.said.map(toTitled) : toUsual(shown);
  return `${[
    title(`Turn ${shown.turn} of ${shown.session}: ${shown.status}`),
    ...said.flatMap((part) => [title(toVisible(part.title)), quote(part.text)]),
    ...(shown.report === null ? [] : [title('Outcome'), renderOutcome(terminal, shown.report)]),
    ...(shown.diff === '' ? [] : [title('Changes'), colorDiff(terminal, shown.diff, 'stdout')]),
  ].join('\n')}\n`;
}

interface Titled {
  title: string;
  text: string;
}

/** Tools were called in it, or it was spoken: then the order tells something. */
function isTalk({ said }: ShownTurn): boolean {
  return said.some((part) => part.tool !== undefined || part.title.endsWith('(spoken)'));
}

function toTitled({ title, tool, text }: ShownTurn['said'][number]): Titled {
  const named = title.replace('Reply', 'Answer');
  return { title: tool === undefined ? named : `${named} ${tool}`, text };
}

function toUsual({ messages, plan, reply, replyIsPartial }: ShownTurn): Titled[] {
  return [
    ...messages.map((text) => ({ title: 'Message', text })),
    ...(plan === null ? [] : [{ title: 'Plan', text: plan }]),
    ...(reply === null ? [] : [{ title: replyIsPartial ? 'Answer (interrupted)' : 'Answer', text: reply }]),
  ];
}

function renderOutcome(terminal: Terminal, report: Report): string {
  const { status, error } = report.run_summary;
  const logs = report.action_logs.flatMap((log) => renderLog(terminal, log));
  const problems = report.validation_errors.map(
    (problem) => `  plan.md:${problem.line}:${problem.column}: ${toVisible(problem.message)}`,
  );
  return [
    `  ${terminal.style(status === 'SUCCESS' ? 'green' : 'red', status)}${error === null ? '' : ` (${toVisible(error)})`}`,
    ...logs,
    ...problems,
  ].join('\n');
}

const shownLines = 10;

/** One line; for a command that failed also where, and the end of what it said. */
function renderLog(terminal: Terminal, { index, action_type, status, params, details }: ActionLog): string[] {
  const target = toVisible(String(Object.values(params)[0] ?? '').split('\n')[0] ?? '');
  const code = details?.return_code === undefined || details.return_code === 0 ? '' : `, exit ${details.return_code}`;
  const reason = details?.reason === undefined ? '' : ` (${toVisible(details.reason)})`;
  const line = `  ${index}. ${action_type} ${target}: ${status}${code}${reason}`;
  if (status !== 'FAILURE' || details === undefined) return [line];
  const said = (details.stderr?.trim() ? details.stderr : (details.stdout ?? '')).trimEnd();
  const last = said === '' ? [] : toVisible(said).split('\n').slice(-shownLines);
  return [line, ...last.map((text) => terminal.style('dim', `     ${text}`))];
}
