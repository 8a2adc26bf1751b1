/** `run_command`: runs a script in the line's work tree, and reports its output and its changes. */
import type { RunCommandCall } from '../../conversation/prompts/chat-tools.ts';
import { abortedOutput } from '../../conversation/records/record.ts';
import { toWellFormed } from '../../conversation/records/well-formed.ts';
import { TeddyError } from '../../errors.ts';
import { findDirectory } from '../../plan/actions/execute.ts';
import type { KeptFiles } from '../../ports/disk.ts';
import type { CommandResult } from '../../ports/files.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Operation } from '../../ports/journal.ts';
import type { Notices, Project } from '../../ports/project.ts';
import { isGuardedPath } from '../../session/global/global-files.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { shortRef, type RefName, type RepoPath } from '../../names.ts';
import { shownLines, takeLast, noteResult } from '../../plan/effects/command-output.ts';
import type { ProcessGroup } from '../../plan/report/journal.ts';
import { readTimeoutMs } from '../run/execute-plan.ts';
import { keepSessionFiles, compareAfterCommand, type FilesAfter } from '../line/guard-session-files.ts';
import { maskPaths, maskString } from '../line/mask-text.ts';
import { commandKind, type CommandFacts } from '../line/settle-commands.ts';
import { maskResult, showMasked } from '../line/masked-output.ts';
import { toReason } from '../run/scripts.ts';
import { findWorkspace, type CallContext } from './files.ts';
import { type ToolOutcome, refuseAborted, toFailure } from './chat.ts';

/** The limit for one stream. */
const maxShownLength = 32 * 1024;
const maxNamed = 50;

/** Runs a command that the user has approved. Its changes stay in the work tree, except in `.teddy/`, which teddy restores. */
export async function runCommand(place: CallContext, call: RunCommandCall): Promise<ToolOutcome> {
  const { project, line, signal } = place;
  refuseAborted(signal);
  const workspace = await findWorkspace(line);
  if (workspace === null) return toFailure(`run_command: ${toNowhere(line.ref, 'no command can be run')}`);
  const cwd = await findDirectory(call.cwd ?? '.', project.filesOf(workspace.root).inspect);
  if ('problem' in cwd) return toFailure(`run_command: cwd ${call.cwd}: ${cwd.problem}.`);
  const timeoutMs = call.timeoutMs ?? (await readTimeoutMs(project));
  const session = { project, workspace, session: line.session };
  const kept = await keepSessionFiles(session);
  const note = await noteCommand(place, workspace, kept);
  const [ran] = await Promise.allSettled([runScript(place, workspace, note, { ...call, cwd: cwd.path, timeoutMs })]);
  // Reverts the command's changes in `.teddy/` before anything else can fail.
  const changes = await compareAfterCommand(session, kept, 'The command').catch(async (error: unknown) => {
    await note.leave();
    throw error;
  });
  await closeNote(project, note, changes);
  if (ran.status === 'rejected') throw ran.reason;
  return toOutcome(ran.value, changes, timeoutMs, project);
}

export function toNowhere(ref: RefName, soWhat: string): string {
  const branch = shortRef(ref);
  return `${branch} is checked out in no work tree, so ${soWhat}. The user can check it out: \`git switch ${toShellWord(branch)}\`.`;
}

/**
 * Writes the note durably before the command starts: after a crash, nothing else could distinguish the command's
 * changes in `.teddy/` from the user's.
 */
async function noteCommand(
  { project, line, place }: CallContext,
  { root }: Workspace,
  kept: KeptFiles,
): Promise<Operation<CommandFacts>> {
  const { ref, session } = line;
  const isLinked = (await project.repository.workTrees())[0]?.root !== root;
  const startedAt = project.clock.now().toISOString();
  // The note does not include the user's own files.
  const scan = new Map([...kept.scan].filter(([path]) => isGuardedPath(path)));
  const facts = { session, turn: place.turn, ref, root, isLinked, startedAt, kept: { ...kept, scan }, group: null };
  return project.journal.open(commandKind, facts);
}

/**
 * Closes the note. Anything that cannot be restored now is left to the next command, which restores it before building
 * on anything.
 */
async function closeNote({ notices }: Project, note: Operation<CommandFacts>, { failure }: FilesAfter): Promise<void> {
  await (failure === null ? note.done() : note.leave()).catch((error: unknown) => warnOf(notices, error));
}

/** Only warns, because teddy still has to report the command's result. */
function warnOf({ warn }: Notices, error: unknown): void {
  if (!(error instanceof TeddyError)) throw error;
  warn(error.hint === undefined ? error.message : `${error.message} ${error.hint}`);
}

async function runScript(
  { project, signal, onOutput }: CallContext,
  workspace: Workspace,
  note: Operation<CommandFacts>,
  { command, cwd, timeoutMs }: { command: string; cwd: string; timeoutMs: number },
): Promise<CommandResult> {
  const onStart = (group: ProcessGroup) => note.note({ group });
  const options = { cwd, env: {}, timeoutMs, signal, onStart };
  const shell = project.shellOf(workspace.root);
  return showMasked(project.masker, onOutput, (add) => shell.run(command, { ...options, onOutput: add }));
}

async function toOutcome(
  result: CommandResult,
  changes: FilesAfter,
  timeoutMs: number,
  { masker }: Project,
): Promise<ToolOutcome> {
  // Masks the output before cutting it, because teddy cannot recognize half a secret.
  const { stdout, stderr } = await maskResult(masker, result);
  const parts = [
    describeEnd(result, timeoutMs),
    ...renderStream('stdout', stdout),
    ...renderStream('stderr', stderr),
    ...(result.truncated ? ['The output was cut at 10 MiB.'] : []),
    ...[noteResult(result)].filter((note) => note !== null),
    ...(await describeChanges(changes, masker)),
  ];
  const output = parts.map((part) => (part.endsWith('\n') ? part : `${part}\n`)).join('');
  const isError = result.aborted || result.exitCode !== 0 || changes.failure !== null;
  const changed = changes.changed.length === 0 ? {} : { changed: await maskPaths(masker, changes.changed) };
  return { output, isError, ...changed, ...(result.aborted ? { reason: 'aborted' } : {}) };
}

function describeEnd({ aborted, timedOut, exitCode }: CommandResult, timeoutMs: number): string {
  if (aborted) return `${abortedOutput}. The command was ended before it was done.`;
  if (timedOut) return `The command was ended after ${timeoutMs / 1000} s. Exit code ${exitCode}.`;
  return `Exit code ${exitCode}.`;
}

/** Returns a stream's last lines; nothing for an empty stream. */
function renderStream(name: 'stdout' | 'stderr', text: string): string[] {
  if (text === '') return [];
  const lines = takeLast(text, shownLines);
  const shown = lines.length <= maxShownLength ? lines : toWellFormed(lines.slice(-maxShownLength));
  const note = shown === text ? '' : `, its end; ${text.length - shown.length} characters before it are left out`;
  return [`--- ${name}${note}`, shown];
}

async function describeChanges(
  { changed, restored, strays, failure }: FilesAfter,
  masker: Project['masker'],
): Promise<string[]> {
  const lines = [
    ...(changed.length === 0 ? [] : [`--- changed files\n${toList(changed)}`]),
    ...(restored.length === 0 ? [] : [`--- put back: no command changes files of .teddy/\n${toList(restored)}`]),
    ...(strays.length === 0 ? [] : [`--- new in .teddy/, where no commit takes them\n${toList(strays)}`]),
    ...(failure === null ? [] : [`${toReason(failure)}`]),
  ];
  return Promise.all(lines.map((line) => maskString(masker, line)));
}

function toList(paths: RepoPath[]): string {
  const rest = paths.length - maxNamed;
  return [...paths.slice(0, maxNamed), ...(rest > 0 ? [`and ${rest} more`] : [])].join('\n');
}
