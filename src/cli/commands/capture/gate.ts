import { setTimeout as sleep } from 'node:timers/promises';
import { openCapture } from '../../../app.ts';
import { findAgentName, type AgentName } from '../../../agents/agents.ts';
import { shortRef } from '../../../names.ts';
import type { Capture } from '../../../ports/agent-logs.ts';
import type { Notices, Project } from '../../../ports/project.ts';
import { parseObject } from '../../../session/text/parse-object.ts';
import type { GateCall, WaitingPlan } from '../../../workflow/capture/gate.ts';
import type { Verdict } from '../../../view/view.ts';
import { openBrowser, readBrowserEnvironment, requestLink, showPage } from '../../ask/open-page.ts';
import { describeFailure, openServer } from '../serve.ts';
import { option, parameter, TeddyCommand, type Terminal, usage, withInterrupt } from '../../teddy-command.ts';

/** How long to wait until the plan is on its line. The agent hides its own question until then. */
const findMs = 5_000;
/** How often to look at the line. */
const [findEveryMs, waitEveryMs] = [25, 100];
/** Shorter than the hour that the agent allows its hook, so that the gate has time to report that nobody decided. */
const limitMs = 59 * 60 * 1000;
/** How long the page stays connected after the verdict, to show the verdict and then that the server has stopped. */
const showMs = 1_000;

const silent: Notices = { info: () => undefined, warn: () => undefined };

export class CaptureGateCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Capture',
    description: 'Make an agent wait for a verdict on its plan; the hook of `capture install --gate` calls this.',
    details: `
      Reads the call of the agent's hook on stdin, waits until the plan is on its session's branch, shows it, and
      waits for a verdict: from the page, from \`teddy approve\` or \`reject\`, or from a pull. Prints the
      answer for the agent. If nobody decides, or anything fails, it prints nothing, and the agent asks you itself.

      Exit codes: 0 always, since an agent treats any other code as a failure of the hook.
    `,
    examples: [['As the hook calls it', '$0 capture gate claude-code < call.json']],
  });

  agent = parameter('agent');
  parent = option('--parent', {
    value: '<pids>',
    describe: 'The waiting processes, with commas; when one of them exits, the gate closes.',
  });

  protected async run(terminal: Terminal): Promise<number> {
    const agent = findAgentName(this.agent);
    const payload = parseObject(await readAll(terminal));
    if (agent === null || payload === null) return 0;
    const hold = (project: Project) =>
      withInterrupt(terminal, 'teddy capture status', (signal) =>
        this.hold(terminal, project, { agent, payload, signal }),
      );
    // On any failure, the agent asks its own question; the agent must not read an error as an answer.
    return this.withProject(terminal, hold, silent).catch((error: unknown) => {
      terminal.say(describeFailure(error));
      return 0;
    });
  }

  private async hold(
    terminal: Terminal,
    project: Project,
    { agent, payload, signal }: { agent: AgentName; payload: Record<string, unknown>; signal: AbortSignal },
  ): Promise<number> {
    const gate = (await project.settings.get('gate')) ?? 'page';
    const { exists, paused } = await project.spool.look();
    if (gate === 'off' || !exists || paused) return 0;
    const { awaitVerdict, closeGate, findChange, findWaitingPlan, namesPlan, openGate, readGateCall, toGateAnswer } =
      await import('../../../workflow/capture/gate.ts');
    const capture = openCapture(project, this.context.env);
    const call = await readGateCall(capture, agent, toPids(this.parent), payload);
    if (call === null) return 0;
    const until = (ms: number, everyMs: number) => toPause(capture, call, signal, { ms, everyMs });
    const plan = await findWaitingPlan(project, capture, call, { pause: until(findMs, findEveryMs) });
    if (plan === null) return 0;
    const waiting = await openGate(project, plan);
    if (!namesPlan(call)) {
      const reason = 'The agent did not say which plan it has, so nobody was asked.';
      await closeGate(project, waiting, plan, { reason });
      return 0;
    }
    const page = gate === 'page' ? await this.openPage(terminal, project, plan) : null;
    if (gate === 'page' && page === null) {
      await closeGate(project, waiting, plan, { reason: 'No browser could be opened to show it.' });
      return 0;
    }
    let verdict: Verdict | null = null;
    let reason: string | null = 'The agent went on before anybody had decided.';
    try {
      verdict = await awaitVerdict(project, plan, { pause: until(limitMs, waitEveryMs) });
      if (signal.aborted) reason = 'The agent stopped waiting.';
      if (verdict !== null)
        reason = verdict.verdict === 'approved' ? await findChange(project, capture, call, plan, verdict) : null;
      if (reason === null && verdict !== null)
        terminal.print(`${JSON.stringify(toGateAnswer(call, verdict, payload))}\n`);
    } finally {
      await closeGate(project, waiting, plan, { reason, isJudged: verdict !== null });
      if (page?.isOwn && verdict !== null) await sleep(showMs, undefined, { signal }).catch(() => undefined);
      await page?.stop();
    }
    return 0;
  }

  /**
   * Opens the page on the repository's running server, otherwise on a server that stops with the gate. Returns null
   * when no browser could be opened.
   */
  private async openPage(terminal: Terminal, project: Project, { ref }: WaitingPlan) {
    const running = await project.servers.read();
    const failure = (error: unknown) => terminal.say(describeFailure(error));
    const own =
      running === null
        ? await openServer(terminal, project, { port: null, report: { request: () => undefined, failure } })
        : null;
    const session = shortRef(ref);
    const env = await readBrowserEnvironment(project, this.context);
    const show = async () => {
      if (own !== null) return openBrowser({ env }, (await own.issueLink(session, true)).link);
      return running !== null && showPage(running, await requestLink(running, session), { env, session });
    };
    const isOpen = await show().catch(() => false);
    if (isOpen) return { isOwn: own !== null, stop: async () => own?.stop() };
    await own?.stop();
    return null;
  }
}

function toPids(text = ''): number[] {
  return text
    .split(',')
    .map(Number)
    .filter((pid) => pid > 0);
}

async function readAll(terminal: Terminal): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of terminal.context.stdin) pieces.push(Buffer.from(piece as Uint8Array | string));
  return Buffer.concat(pieces).toString('utf8');
}

/** Returns false when the time is over, the agent has exited, or something told the gate to stop. */
function toPause(
  capture: Pick<Capture, 'isAlive'>,
  { pids }: GateCall,
  signal: AbortSignal,
  { ms, everyMs }: { ms: number; everyMs: number },
): () => Promise<boolean> {
  const untilMs = performance.now() + ms;
  return async () => {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted || performance.now() >= untilMs) return false;
    return (await Promise.all(pids.map((pid) => capture.isAlive(pid)))).every(Boolean);
  };
}
