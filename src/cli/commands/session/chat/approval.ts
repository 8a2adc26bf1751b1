/** A call of the model's at the terminal: what it would do, and the question. */
import { TeddyError } from '../../../../errors.ts';
import type { CallDecision, ShownCall } from '../../../../workflow/chat/chat.ts';
import { askLine } from '../../../ask/line.ts';
import { toVisible, type Terminal } from '../../../terminal.ts';

/** Throws INTERRUPTED on Ctrl-C; the end of the input is a no. */
export async function askCall(terminal: Terminal, signal: AbortSignal, call: ShownCall): Promise<CallDecision> {
  const isCut = showCall(terminal, call, maxLines(terminal));
  const usable = isCut ? 'y,n,i,e,?' : 'y,n,i,?';
  for (;;) {
    const answer = await askLine(terminal, signal, terminal.style('bold', `Allow this? [${usable}] `, 'stderr'));
    if (signal.aborted) throw toInterrupted();
    const word = answer?.trim().toLowerCase() ?? 'n';
    if (word === 'y' || word === 'yes') return true;
    if (word === 'n' || word === 'no') return false;
    if (word === 'i') {
      const instruction = await askInstruction(terminal, signal);
      if (instruction !== null) return { instruction };
      continue;
    }
    if (word === 'e' && isCut) showCall(terminal, call, Number.POSITIVE_INFINITY);
    else terminal.say(renderLetters(isCut));
  }
}

/** Null: nothing was said, and the call is asked about again. */
async function askInstruction(terminal: Terminal, signal: AbortSignal): Promise<string | null> {
  const said = await askLine(terminal, signal, terminal.style('bold', 'Do what instead? ', 'stderr'));
  if (signal.aborted) throw toInterrupted();
  return said === null || said.trim() === '' ? null : said;
}

/** What would scroll away the question is cut; whether it was. */
function showCall(terminal: Terminal, { summary, detail }: ShownCall, limit: number): boolean {
  terminal.say(terminal.style('bold', toVisible(summary), 'stderr'));
  if (detail === null) return false;
  const lines = toVisible(detail.trimEnd()).split('\n');
  const isCut = lines.length > limit;
  for (const line of isCut ? lines.slice(0, limit) : lines) terminal.say(`  ${line}`);
  if (isCut) terminal.say(terminal.style('dim', `... ${lines.length - limit} more lines (e shows all)`, 'stderr'));
  return isCut;
}

function maxLines({ context: { stderr } }: Terminal): number {
  return Math.floor(((stderr.rows || 24) * 2) / 3);
}

function renderLetters(isCut: boolean): string {
  return [
    'y  yes, do it',
    'n  no; the answer ends there, and you say what to do instead',
    'i  say what to do instead; nothing is run, and the answer goes on',
    ...(isCut ? ['e  show all of it'] : []),
    '?  this help',
  ].join('\n');
}

function toInterrupted(): TeddyError {
  return new TeddyError('INTERRUPTED', 'Interrupted before it was approved.', 'What was said until then is kept.');
}
