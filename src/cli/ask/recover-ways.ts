/** The ways to go on with an interrupted write session, for `write recover` and wherever one is offered. */
import { writeFile } from 'node:fs/promises';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { showWrite, type WriteView } from '../../workflow/writes/list.ts';
import { discardWrite, finalizeLeft } from '../../workflow/writes/recover.ts';
import { askOrStop, askYes, showFinalized } from './finish-write.ts';
import {
  describeAside,
  describeBytes,
  describeTarget,
  printContent,
  showFindings,
  toAsideJson,
} from '../render/write.ts';
import { describeAge } from '../render/time.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import { type FinalizedAnswer, toFinalizedAnswer, toStatusAnswer } from '../../http/write-api.ts';

export interface Recovering {
  terminal: Terminal;
  project: Project;
  signal: AbortSignal;
  /** Null when a person reads the output. */
  printJson: ((value: object) => void) | null;
  page(text: string): Promise<void>;
}

/** `create docs/guide.md, 12,345 bytes, 5 min ago`. */
export function describeLeft({ project }: Pick<Recovering, 'project'>, view: WriteView): string {
  const age = describeAge(view.savedAt, project.clock.now().getTime());
  return toVisible(`${describeTarget(toStatusAnswer(view))}, ${describeBytes(view.size + view.tailBytes)}, ${age} ago`);
}

/** Lists what `write recover` can do with the session. */
export function listWays({ stage }: WriteView): { option: string; does: string }[] {
  const goOn = [
    { option: '--finalize', does: 'it is whole: check it, and commit it' },
    { option: '--continue', does: 'go on with it from stdin' },
  ];
  return [
    ...(stage === 'damaged' ? [] : goOn),
    { option: '--show', does: 'print what has arrived' },
    { option: '--output <file>', does: 'write what has arrived to a file' },
    { option: '--discard', does: 'give it up' },
  ];
}

/** Whether the writer had ended the content, so that nothing is left to decide. */
export async function isWhole(project: Project, { id }: WriteView): Promise<boolean> {
  const phase = (await project.writes.find(id))?.state?.phase;
  return phase === 'finalizing' || phase === 'installing' || phase === 'installed';
}

/** Returns the exit code. Throws VALIDATION_FAILED, and what `finalizeLeft` throws. */
export async function finalizeAndShow(recovering: Recovering, id: string, force: boolean): Promise<number> {
  const { terminal, project, signal, printJson } = recovering;
  const finalized = toFinalizedAnswer(await finalizeLeft(project, id, force, signal));
  if (!finalized.success && !force && printJson === null && terminal.isInteractive) {
    return forceAndShow(recovering, finalized);
  }
  return showFinalized({ terminal, printJson }, finalized);
}

async function forceAndShow(recovering: Recovering, rejected: FinalizedAnswer & { success: false }): Promise<number> {
  const { terminal, project, signal, printJson } = recovering;
  showFindings(terminal, rejected);
  const isAccepted = await askYes(terminal, signal, 'Write it all the same? [y/N] ', false);
  const finalized = isAccepted
    ? toFinalizedAnswer(await finalizeLeft(project, rejected.session_id, true, signal))
    : rejected;
  return showFinalized({ terminal, printJson, shownMessage: rejected.message }, finalized);
}

export async function showLeft({ terminal, project, printJson, page }: Recovering, id: string): Promise<void> {
  const { verified, tail, aside } = await showWrite(project, id);
  const bytes = Buffer.concat([verified, tail]);
  if (printJson !== null) {
    const unverified = { unverified_bytes: tail.length, aside: toAsideJson(aside) };
    printJson({ session_id: id, content: bytes.toString('utf8'), ...unverified });
    return;
  }
  await printContent(terminal, bytes, page);
  if (tail.length > 0) terminal.say(`No save has confirmed the last ${describeBytes(tail.length)}.`);
  for (const line of describeAside(aside, false)) terminal.say(line);
}

/** Exports a damaged session too, and keeps it. Throws FILES_IN_THE_WAY, WRITE_FAILED. */
export async function exportLeft(
  { terminal, project, printJson }: Recovering,
  id: string,
  path: string,
): Promise<void> {
  const { verified, tail, aside } = await showWrite(project, id);
  await writeNewFile(path, Buffer.concat([verified, tail]));
  const size = verified.length + tail.length;
  if (printJson !== null) {
    printJson({ session_id: id, output: path, size, unverified_bytes: tail.length, aside: toAsideJson(aside) });
    return;
  }
  const unsure = tail.length === 0 ? '' : `; no save has confirmed the last ${describeBytes(tail.length)}`;
  terminal.print(`Wrote ${describeBytes(size)} to ${toVisible(path)}${unsure}.\n`);
  for (const line of describeAside(aside, false)) terminal.say(line);
  terminal.say(`The write session stays. Give it up: teddy write recover ${id} --discard`);
}

async function writeNewFile(path: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeFile(path, bytes, { flag: 'wx', flush: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') {
      throw new TeddyError('FILES_IN_THE_WAY', `${path} exists already.`, 'Name a file that does not exist.', {
        cause: error,
      });
    }
    if (code === undefined) throw error;
    const reason = code === 'ENOSPC' ? 'DISK_FULL' : 'WRITE_FAILED';
    throw new TeddyError(reason, `${path} cannot be written (${code}).`, 'Name another file.', { cause: error });
  }
}

export async function discardLeft({ terminal, project, printJson }: Recovering, id: string): Promise<void> {
  await discardWrite(project, id);
  if (printJson === null) terminal.print(`Discarded ${id}.\n`);
  else printJson({ session_id: id });
}

const help = [
  'f  finalize: it is whole; check it, and commit it',
  's  show what has arrived',
  'o  write what has arrived to a file',
  'd  discard it',
  'q  decide later',
  '?  this help',
];

/** Asks until something is done about the session. Null when that is put off. Throws INTERRUPTED on Ctrl-C. */
export async function askWay(recovering: Recovering, view: WriteView): Promise<number | null> {
  const { terminal, signal } = recovering;
  const isDamaged = view.stage === 'damaged';
  const ways = help.slice(isDamaged ? 1 : 0).join('\n');
  terminal.say(ways);
  const question = `What now? [${isDamaged ? '' : 'f,'}s,o,d,q,?] `;
  for (;;) {
    const answer = (await askOrStop(terminal, signal, question))?.toLowerCase() ?? 'q';
    if (answer === 'f' && !isDamaged) return finalizeAndShow(recovering, view.id, false);
    if (answer === 'q' || answer === 'quit') {
      terminal.say(`It stays: teddy write recover ${toShellWord(view.id)}`);
      return null;
    }
    if (answer === 'd') {
      await discardLeft(recovering, view.id);
      return 0;
    }
    if (answer === 's') await showLeft(recovering, view.id);
    else if (answer !== 'o') terminal.say(ways);
    else if (await exportAsked(recovering, view.id)) return 0;
  }
}

/** False when nothing was written, after saying why. */
async function exportAsked(recovering: Recovering, id: string): Promise<boolean> {
  const { terminal, project, signal } = recovering;
  const path = (await askOrStop(terminal, signal, 'File: ')) ?? '';
  if (path === '') return false;
  try {
    await exportLeft(recovering, id, path);
    return true;
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    project.notices.warn(error.message);
    return false;
  }
}
