import { openAgentSetup, openCapture } from '../../../app.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import type { CaptureStatus } from '../../../workflow/capture/status.ts';
import { TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

export class CaptureStatusCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Capture',
    description: 'Show whether capture works here, and for which agents.',
    details: `
      Shows for each agent: whether it is on this machine; whether its hooks are \`installed\`, \`changed\`,
      \`missing\`, or \`unknown\` because its file cannot be read; when it last called a hook in this repository; and
      how many of its sessions are here. Warnings follow, each with a way to fix it.

      Exit codes: 0 done, regardless of the findings; 1 not a repository.
    `,
    examples: [
      ['Whether it works', '$0 capture status'],
      ['For a program', '$0 capture status --json'],
    ],
  });

  protected override showsSilentAgents = true;
  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      const { readCaptureStatus } = await import('../../../workflow/capture/status.ts');
      const status = await readCaptureStatus(
        project,
        await openAgentSetup(this.context.main, this.context.env),
        openCapture(project, this.context.env),
      );
      if (this.json) this.printJson(terminal, 'capture-status', toJson(status));
      else terminal.print(render(terminal, status));
      return 0;
    });
  }
}

function toJson({ script, agents, drainer, waiting, ...status }: CaptureStatus) {
  return {
    ...status,
    script: { path: script.path, state: script.state },
    drainer,
    waitingBytes: waiting,
    agents: agents.map(({ lastCall, ...agent }) => ({
      ...agent,
      lastCall: lastCall === null ? null : toTime(lastCall),
    })),
  };
}

function toTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

function render(terminal: Terminal, { captured, paused, drainer, agents, warnings }: CaptureStatus): string {
  const state = captured
    ? paused
      ? 'captured, and paused: `teddy capture resume`'
      : 'captured'
    : 'not captured: `teddy capture install`';
  const rows = agents
    .filter(({ found, hooks }) => found || hooks !== 'missing')
    .map(({ title, hooks, gate, trusted, lastCall, sessions }) =>
      [
        `  ${title.padEnd(12)}  hooks ${hooks}`,
        ...(gate ? ['plans wait for a verdict'] : []),
        ...(trusted === null ? [] : [trusted ? 'trusted' : 'not trusted']),
        lastCall === null ? 'never called here' : `called ${toTime(lastCall)}`,
        `${sessions} ${sessions === 1 ? 'session' : 'sessions'}`,
      ].join(', '),
    );
  const lines = [
    `This repository is ${state}.`,
    ...(drainer === null ? [] : [`Process ${drainer} is reading what the hooks have recorded.`]),
    ...(rows.length === 0 ? ['teddy found no agent on this machine that it can capture.'] : rows),
    ...warnings.map((text) => `${terminal.style('yellow', 'warning:')} ${toVisible(text)}`),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
