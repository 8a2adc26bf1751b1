/** Renders write sessions for the user. */
import type { WriteContent } from '../../ports/disk.ts';
import { formatCount } from '../../session/text/format-count.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { describeValidation } from '../../workflow/writes/commit.ts';
import type { CleanedWrite } from '../../workflow/writes/clean.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import { describeAge } from './time.ts';
import type { FinalizeAnswer, RejectedAnswer, StatusAnswer } from '../../http/schemas.ts';

/** `branch` is the branch of the file's session, if known. */
export function renderStatus(terminal: Terminal, write: StatusAnswer, nowMs: number, branch?: string): string {
  const { session_id, status, stage, intent, size, unverified_bytes, findings, reason, commit } = write;
  const lines = [
    `${describeTarget(write)}${toPlace(branch)}${intent === null || intent === '' ? '' : `: ${intent}`}`,
    `${describeBytes(size)}, last written ${describeAge(write.saved_at, nowMs)} ago`,
    ...(unverified_bytes === 0 ? [] : [`${describeBytes(unverified_bytes)} more, not confirmed by a save`]),
    ...(reason === null ? [] : [`It failed: ${reason}`]),
    ...(findings.length === 0 ? [] : [`${findings.length === 1 ? '1 finding' : `${findings.length} findings`}:`]),
    ...findings.map(
      ({ check, message, line }) => `  ${check}${line === undefined ? '' : `, line ${line}`}: ${message}`,
    ),
    ...(commit === null ? [] : [`Committed as ${commit.slice(0, 10)}`]),
  ];
  const title = `${terminal.style('bold', session_id)}  ${status}, ${describeStage(stage)}`;
  return `${[title, ...lines.map(toVisible)].join('\n')}\n`;
}

export function renderStatuses(
  terminal: Terminal,
  writes: StatusAnswer[],
  nowMs: number,
  branches: ReadonlyMap<string, string>,
): string {
  const stages = writes.map(({ stage }) => describeStage(stage));
  const sizes = writes.map(({ size, unverified_bytes }) => describeBytes(size + unverified_bytes));
  const widest = (texts: string[]) => Math.max(...texts.map(({ length }) => length));
  return writes
    .map((write, at) => {
      const stage = (stages[at] ?? '').padEnd(widest(stages));
      const size = (sizes[at] ?? '').padStart(widest(sizes));
      const age = `${describeAge(write.saved_at, nowMs)} ago`;
      const target = toVisible(`${describeTarget(write)}${toPlace(branches.get(write.session_id))}`);
      return `${terminal.style('bold', write.session_id)}  ${stage}  ${size}  ${age.padEnd(10)}  ${target}\n`;
    })
    .join('');
}

function toPlace(branch: string | undefined): string {
  return branch === undefined ? '' : ` on ${branch}`;
}

export function describeTarget({ operation, target_file }: Pick<StatusAnswer, 'operation' | 'target_file'>): string {
  return target_file === null ? 'of an unknown file' : `${operation ?? 'write'} ${target_file}`;
}

function describeStage(stage: string): string {
  return stage.replaceAll('_', ' ');
}

export function describeBytes(bytes: number): string {
  return bytes === 1 ? '1 byte' : `${formatCount(bytes)} bytes`;
}

/** Prints `<path> <commit>` on stdout, and the checks on stderr. */
export function showWritten(
  terminal: Terminal,
  { written_path, commit, notes, validation_summary }: FinalizeAnswer,
): void {
  for (const note of notes) terminal.say(`note: ${toVisible(note)}`);
  terminal.say(terminal.style('dim', toVisible(`Checks: ${describeValidation(validation_summary)}.`), 'stderr'));
  terminal.print(`${toVisible(written_path)} ${commit.slice(0, 10)}\n`);
}

export function showFindings(terminal: Terminal, { message }: Pick<RejectedAnswer, 'message'>): void {
  terminal.say(toVisible(message.trimEnd()));
}

/** Describes what the user can do with content that failed the checks. */
export function describeCorrection({ session_id: id, reason }: RejectedAnswer, server: string | undefined): string {
  const option = server === undefined ? '' : ` --server ${toShellWord(server)}`;
  if (reason === null)
    return `Send it corrected: \`teddy write finalize ${id} --content <file>${option}\`; as it is: \`teddy write finalize ${id} --received --force${option}\`.`;
  const kept = server === undefined ? 'The content is kept:' : "The content is kept. In the server's repository";
  return `${kept} \`teddy write recover ${id} --finalize --force\` writes it as it is, --output <file> elsewhere.`;
}

/** Prints the bytes unchanged; on a terminal, makes control characters visible. */
export async function printContent(
  terminal: Terminal,
  bytes: Uint8Array,
  page: (text: string) => Promise<void>,
): Promise<void> {
  if (terminal.isOutputTty) await page(toVisible(new TextDecoder().decode(bytes)));
  else terminal.context.stdout.write(bytes);
}

/** Returns lines for stderr about the bytes that teddy set aside when it reopened the session. */
export function describeAside(aside: WriteContent['aside'], isPrinted: boolean): string[] {
  return aside.map(({ name, bytes }) => {
    const what = `${name}: ${describeBytes(bytes.length)} not confirmed by a save were set aside`;
    return toVisible(isPrinted ? `${what}.` : `${what}: \`teddy write show <id> --tail\` prints them.`);
  });
}

/** Returns the same facts for JSON. */
export function toAsideJson(aside: WriteContent['aside']): { name: string; bytes: number }[] {
  return aside.map(({ name, bytes }) => ({ name, bytes: bytes.length }));
}

export function describeCleaned({ id, target, kept, isCommitted }: CleanedWrite): string {
  const what = `Cleared the write session ${id}${target === null ? '' : ` of ${target}`}`;
  const [content, ...others] = kept;
  if (content === undefined) return isCommitted ? `${what}, which is committed.` : `${what}; it had received nothing.`;
  const more = others.length === 0 ? '' : `, also ${others.map((oid) => oid.slice(0, 10)).join(', ')}`;
  return `${what}; its content: git cat-file -p ${content.slice(0, 10)}${more}`;
}
