import { notCapturedError } from '../../../errors.ts';
import { TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';

const exits = 'Exit codes: 0 done, now or before; 1 not a repository; 3 the repository is not captured.';

abstract class PauseOrResumeCommand extends TeddyCommand {
  protected abstract readonly pauses: boolean;

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async ({ spool }) => {
      const { exists } = await spool.look();
      if (!exists) throw notCapturedError();
      await spool.pause(this.pauses);
      if (this.json) this.printJson(terminal, 'capture-pause', { paused: this.pauses });
      else
        terminal.say(
          this.pauses
            ? 'Paused: nothing is captured until `teddy capture resume`.'
            : 'Resumed: what agents do is captured again.',
        );
      return 0;
    });
  }
}

export class CapturePauseCommand extends PauseOrResumeCommand {
  static override usage = usage({
    category: 'Capture',
    description: 'Pause capturing in this repository.',
    details: `
      Hooks record nothing until \`teddy capture resume\`. teddy still reads what they recorded before.

      ${exits}
    `,
    examples: [['For a while', '$0 capture pause']],
  });

  protected readonly pauses = true;
}

export class CaptureResumeCommand extends PauseOrResumeCommand {
  static override usage = usage({
    category: 'Capture',
    description: 'Capture again after a pause.',
    details: exits,
    examples: [['Again', '$0 capture resume']],
  });

  protected readonly pauses = false;
}
