import { openAgentPlace, openCapture } from '../../../app.ts';
import { openableAgents, type AgentName } from '../../../agents/agents.ts';
import { TeddyError } from '../../../errors.ts';
import { formatCount } from '../../../session/text/format-count.ts';
import { toShellWord } from '../../../session/text/shell-word.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import type { OpenedSession } from '../../../workflow/conversation/open-with.ts';
import type { Project } from '../../../ports/project.ts';
import { toSurroundings, type CliContext } from '../../context.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class SessionOpenCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Elsewhere',
    description: 'Continue a session in Claude Code or Codex.',
    details: `
      Writes the history of the session, up to its end or to a turn, as a log in the agent's own format, and prints
      the command that resumes it. The session can be teddy's own or come from any agent and any machine. The agent
      gets the messages, the answers, and the tool calls with their results; thinking is left out, and masked text
      stays masked.

      The log gets a new id, and belongs to the current directory: start the agent here. None of the agent's other
      files are touched, and nothing is written in the repository.

      Exit codes: 0 done; 1 the log could not be written, or the repository is damaged; 2 no such session, turn or
      agent; 3 a file is in the way.
    `,
    examples: [
      ['Continue in Claude Code', '$0 open add-login --with claude-code'],
      ['Continue in Codex from turn 03', '$0 open add-login:03 --with codex'],
    ],
  });

  target = parameter('session[:turn]', { completes: ['sessions'] });
  with = option('--with', { value: '<agent>', describe: `The agent: ${openableAgents.join(' or ')}.`, required: true });

  protected override trustsHead = () => 'once' as const;

  protected run(terminal: Terminal): Promise<number> {
    const agent = toAgent(this.with);
    return this.withProject(terminal, async (project) => {
      const opened = await openInAgent(this.context, project, this.target, agent);
      if (this.json) this.printJson(terminal, 'session-open', opened);
      else showOpened(terminal, opened);
      return 0;
    });
  }
}

/** Writes the session as a log of the agent, which capture then does not take for the agent's own work. */
export async function openInAgent(
  context: CliContext,
  project: Project,
  target: string,
  agent: AgentName,
): Promise<OpenedSession> {
  const { openWith } = await import('../../../workflow/conversation/open-with.ts');
  const logs = await openAgentPlace(agent, toSurroundings(context));
  const opened = await openWith(project, target, { agent, logs });
  const { noteOwnLog } = await import('../../../workflow/capture/capture.ts');
  await noteOwnLog(openCapture(project, context.env), agent, opened.path, project.clock.now().toISOString());
  return opened;
}

/** Throws UNKNOWN_AGENT. */
export function toAgent(text: string): AgentName {
  const agent = openableAgents.find((known) => known === text);
  if (agent !== undefined) return agent;
  const hint = `Choose one of: ${openableAgents.join(', ')}.`;
  throw new TeddyError('UNKNOWN_AGENT', `teddy cannot open a session with ${JSON.stringify(text)}.`, hint);
}

/** `root` is the work tree to start the agent in, if that is not this one. */
export function showOpened(terminal: Terminal, opened: OpenedSession, root: string | null = null): void {
  const { agent, turns, turn, session, repairs, command } = opened;
  const count = `${formatCount(turns)} ${turns === 1 ? 'turn' : 'turns'}`;
  terminal.say(toVisible(`Wrote ${count} of ${session}, up to ${turn}, to ${opened.path}.`));
  const put = 'The history needed repairs; `teddy history` lists them.';
  if (repairs.length > 0) terminal.say(put);
  if (!opened.isInstalled)
    terminal.say(`There is no \`${command.split(' ')[0]}\` on your PATH: install ${agent} first.`);
  const whole = toVisible(root === null ? command : `cd ${toShellWord(root)} && ${command}`);
  terminal.say(`Next: ${whole}`);
  terminal.print(`${whole}\n`);
}
