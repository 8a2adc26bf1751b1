import { openCapture } from '../../../app.ts';
import { notCapturedError } from '../../../errors.ts';
import { formatCount } from '../../../session/text/format-count.ts';
import { TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

/** How long teddy follows an open turn after its log last grew. */
const lingerMs = 30_000;

export class CaptureDrainCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Capture',
    description: "Capture what other agents' hooks have recorded; the hooks call this.",
    details: `
      Reads the logs that the hooks point to, and appends new entries to the sessions' branches. It follows an open turn
      until the turn ends, or until its log has not grown for 30 seconds. Only one process at a time does this in a
      repository; a second one exits at once. HEAD, your files and your branches do not change.
    `,
    examples: [['By hand, after a crash', '$0 capture drain']],
  });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProjectAndSignal(terminal, 'teddy capture drain', async (project, signal) => {
      if (!(await project.spool.look()).exists) throw notCapturedError();
      const { drain } = await import('../../../workflow/capture/drain.ts');
      const drained = await drain(project, openCapture(project, this.context.env), { signal, lingerMs });
      if (this.json) this.printJson(terminal, 'capture-drain', { ...drained, isBusy: drained === null });
      else if (drained === null) terminal.say('Another process is already reading the logs.');
      else {
        for (const problem of drained.problems) terminal.say(toVisible(problem));
        const entries = drained.entries === 1 ? '1 entry' : `${formatCount(drained.entries)} entries`;
        const calls = drained.calls === 1 ? '1 call' : `${formatCount(drained.calls)} calls`;
        terminal.say(`${entries} from ${calls} by hooks.`);
      }
      return drained !== null && drained.problems.length > 0 ? 1 : 0;
    });
  }
}
