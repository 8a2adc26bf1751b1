/** Lists and runs the ways to continue an interrupted write session, for `write recover` and for commands that offer one. */
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
  /** Null when the output is for the user, not a program. */
  printJson: ((value: object) => void) | null;
  page(text: string): Promise<void>;
}

/** Returns, for example, `create docs/guide.md, 12,345 bytes, 5 min ago`. */
export function describeLeft({ project }: Pick<Recovering, 'project'>, view: WriteView): string {
  const age = describeAge(view.savedAt, project.clock.now().getTime());
  return toVisible(`${describeTarget(toStatusAnswer(view))}, ${describeBytes(view.size + view.tailBytes)}, ${age} ago`);
}

/** Lists what `write recover` can do with the session. */
export function listWays({ stage }: WriteView): { option: string; does: string }[] {
  const goOn = [
    { option: '--finalize', does: 'treat it as complete: check it, and commit it' },
    { option: '--continue', does: 'continue it from stdin' },
  ];
  return [
    ...(stage === 'damaged' ? [] : goOn),
    { option: '--show', does: 'print the received content' },
    { option: '--output <file>', does: 'write the received content to a file' },
    { option: '--discard', does: 'discard it' },
  ];
}

/** Returns true if the writer had finished the content, which leaves nothing to decide. */
export async function isWhole(project: Project, { id }: WriteView): Promise<boolean> {
  const phase = (await project.writes.find(id))?.state?.phase;
  return phase === 'finalizing' || phase === 'installing' || phase === 'installed';
}

/** Returns the exit code. Throws VALIDATION_FAILED or an error from `finalizeLeft`. */
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
  const isAccepted = await askYes(terminal, signal, 'Write it anyway? [y/N] ', false);
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
  if (tail.length > 0) terminal.say(`The last ${describeBytes(tail.length)} are not confirmed by a save.`);
  for (const line of describeAside(aside, false)) terminal.say(line);
}

/** Exports a session, even a damaged one, without deleting it. Throws FILES_IN_THE_WAY or WRITE_FAILED. */
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
  const unsure = tail.length === 0 ? '' : `; the last ${describeBytes(tail.length)} are not confirmed by a save`;
  terminal.print(`Wrote ${describeBytes(size)} to ${toVisible(path)}${unsure}.\n`);
  for (const line of describeAside(aside, false)) terminal.say(line);
  terminal.say(`The write session is kept. To discard it: teddy write recover ${id} --discard`);
}

async function writeNewFile(path: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeFile(path, bytes, { flag: 'wx', flush: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') {
      throw new TeddyError('FILES_IN_THE_WAY', `${path} exists already.`, 'Name a file that does not exist yet.', {
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
  'f  finalize: treat it as complete; check it, and commit it',
  's  show the received content',
  'o  write the received content to a file',
  'd  discard it',
  'q  decide later',
  '?  this help',
];

/** Asks until the user has dealt with the session. Returns null when the user postpones it. Throws INTERRUPTED on Ctrl-C. */
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
      terminal.say(`It is kept: teddy write recover ${toShellWord(view.id)}`);
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

/** Returns false after explaining why nothing was written. */
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
