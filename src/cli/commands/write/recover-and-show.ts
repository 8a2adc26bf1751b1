/** Continues an abandoned write session, for `write recover`. */
import { exitCodes, TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { findWrite, listWrites, type WriteView } from '../../../workflow/writes/list.ts';
import { toCommitted } from '../../../workflow/writes/recover.ts';
import { continueWrite } from '../../../workflow/writes/stream.ts';
import { askRecover } from '../../ask/finish-write.ts';
import {
  askWay,
  describeLeft,
  discardLeft,
  exportLeft,
  finalizeAndShow,
  isWhole,
  listWays,
  showLeft,
  type Recovering,
} from '../../ask/recover-ways.ts';
import { streamContent } from './stream-content.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import { toFinalizedAnswer, toStatusAnswer } from '../../../http/write-api.ts';

export interface RecoverOptions {
  /** The session's ID; undefined for the only abandoned session. */
  id: string | undefined;
  finalize: boolean;
  goOn: boolean;
  show: boolean;
  output: string | undefined;
  discard: boolean;
  force: boolean;
  eofIsDone: boolean;
}

/** The stages in which no process is working on a session. */
const leftStages: WriteView['stage'][] = ['orphaned', 'expired', 'failed', 'damaged'];

/** Returns the exit code. */
export async function recoverAndShow(recovering: Recovering, options: RecoverOptions): Promise<number> {
  const { project } = recovering;
  const view = options.id === undefined ? await findOnly(project) : await findWrite(project, options.id);
  const { id } = view;
  if (view.stage === 'committed') throw toCommitted(id);
  if (options.finalize) return finalizeAndShow(recovering, id, options.force);
  if (options.goOn) return goOn(recovering, id, options);
  if (options.show) await showLeft(recovering, id);
  else if (options.output !== undefined) await exportLeft(recovering, id, options.output);
  else if (options.discard) await discardLeft(recovering, id);
  else return decide(recovering, view, options.id !== undefined);
  return 0;
}

function goOn(
  { terminal, project, signal, printJson }: Recovering,
  id: string,
  { eofIsDone, force }: RecoverOptions,
): Promise<number> {
  return streamContent({ terminal, signal, eofIsDone, force, printJson }, async (stream, { onPrompt, decide }) => {
    const finalized = await continueWrite(project, id, stream, {
      onPrompt,
      decide: (rejected) => decide(toFinalizedAnswer(rejected)),
      onTakenUp: ({ record, write }) => {
        const place = `Continuing ${record.target} after ${write.state.size} bytes.`;
        terminal.say(toVisible(`${place} End with ${record.endMarker} on its own line.`));
      },
    });
    return toFinalizedAnswer(finalized);
  });
}

/** Asks what to do. If the user named the session, does not ask whether to recover it. */
async function decide(recovering: Recovering, view: WriteView, isNamed: boolean): Promise<number> {
  const { terminal, project, signal, printJson } = recovering;
  if (printJson !== null || !terminal.isInteractive) return printChoices(recovering, view);
  terminal.say(`${describeLeft(recovering, view)}.`);
  if (!isNamed && !(await askRecover(terminal, signal))) return 0;
  if (!isNamed && (await isWhole(project, view))) return finalizeAndShow(recovering, view.id, false);
  return (await askWay(recovering, view)) ?? 0;
}

function printChoices({ terminal, project, printJson }: Recovering, view: WriteView): number {
  if (printJson !== null) {
    printJson({ ...toStatusAnswer(view), ways: listWays(view).map(({ option }) => option) });
  } else {
    terminal.say(`${describeLeft({ project }, view)}.`);
    const rows = listWays(view).map(({ option, does }) => ({
      command: `teddy write recover ${view.id} ${option}`,
      does,
    }));
    if (view.stage !== 'damaged')
      rows.unshift({ command: `teddy write ask --resume ${view.id}`, does: 'have a model continue it' });
    const widest = Math.max(...rows.map(({ command }) => command.length));
    terminal.say(rows.map(({ command, does }) => `${command.padEnd(widest)}  ${does}`).join('\n'));
  }
  return exitCodes.USAGE;
}

/** Throws UNKNOWN_WRITE when no session is abandoned, or more than one is. */
async function findOnly(project: Project): Promise<WriteView> {
  const left = (await listWrites(project)).filter(({ stage }) => leftStages.includes(stage));
  const [only] = left;
  if (only !== undefined && left.length === 1) return only;
  if (only === undefined) {
    const hint = '`teddy write list` shows the active ones.';
    throw new TeddyError('UNKNOWN_WRITE', 'There is no write session to recover.', hint);
  }
  const named = left.map((view) => `${view.id} (${view.record?.target ?? 'unknown'})`).join(', ');
  throw new TeddyError(
    'UNKNOWN_WRITE',
    `There are ${left.length} write sessions to recover: ${named}.`,
    'Name one: `teddy write recover <id>`.',
  );
}
