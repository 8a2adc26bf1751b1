/** Renders push, pull and sync: a transfer's progress, what happened to each line, and what was in the way. */
import { exitCodes } from '../../errors.ts';
import type { TransferProgress } from '../../ports/git.ts';
import { formatCount } from '../../session/text/format-count.ts';
import { nameRef, parseLineRef, type RefName } from '../../names.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import type { Shared, SharedLine, Step } from '../../workflow/sharing/shared-line.ts';
import { errorDocument, renderError } from './error.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

const redrawMs = 100;

/** Redraws one line; like git, shows nothing when stderr is not a terminal. */
export function showTransfer(terminal: Terminal): (progress: TransferProgress) => void {
  let phase = '';
  let drawnMs = 0;
  return (progress) => {
    const isNew = progress.phase !== phase;
    phase = progress.phase;
    if (terminal.context.stderr.isTTY !== true) return;
    const nowMs = performance.now();
    if (!isNew && nowMs - drawnMs < redrawMs) return;
    drawnMs = nowMs;
    terminal.redraw(terminal.style('dim', toVisible(renderProgress(progress)), 'stderr'));
  };
}

function renderProgress({ phase, done, total }: TransferProgress): string {
  if (total === null || total === 0) return done === 0 ? phase : `${phase}, ${formatCount(done)}`;
  return `${phase}, ${Math.min(100, Math.floor((100 * done) / total))} % (${formatCount(done)}/${formatCount(total)})`;
}

const words: Record<Step, string> = {
  taken: 'pulled',
  made: 'new here',
  merged: 'merged',
  moved: 'pulled',
  pushed: 'pushed',
};

/** Prints what was done on stdout, line by line, and prints on stderr what was not done, and why. */
export function showShared(
  terminal: Terminal,
  shared: Shared,
  { dryRun, verb, selector }: { dryRun: boolean; verb: string; selector?: string | undefined },
): void {
  const { remote, session, lines, leftOut, monthsLeft, notes, pushed } = shared;
  const name = toVisible(remote.label);
  terminal.say(`${name}: ${session === null ? 'all sessions' : `session ${session}`} and teddy/global.`);
  const done = lines.filter(({ did }) => did.length > 0);
  for (const line of done) terminal.print(`${renderLine(terminal, line, dryRun)}\n`);
  for (const note of notes) terminal.say(`${terminal.style('yellow', 'note:', 'stderr')} ${toVisible(note)}`);
  for (const line of lines) if (line.did.length === 0) printLeft(terminal, line, name);
  printLeftOut(terminal, leftOut, `teddy ${verb} ${name}`, selector);
  printMonthsLeft(terminal, monthsLeft, verb, name);
  // After a dry run, the remote may refuse the command because there is more to pull.
  if (verb === 'pull' && !(dryRun && done.length > 0)) printAhead(terminal, shared, selector);
  const hasProblem = shared.refusal !== null || lines.some(({ problem }) => problem !== null);
  const isElsewhere = verb === 'pull' && session !== null && !lines.some((line) => line.session === session);
  if (isElsewhere) terminal.say(`${name} does not have ${session}. \`teddy list\` names the remote that has it.`);
  else if (done.length === 0 && !hasProblem) terminal.say(`Nothing to ${verb}.`);
  if (pushed !== undefined) return showShared(terminal, pushed, { dryRun, verb: 'push' });
  if (dryRun) terminal.say('Nothing was changed: this was a dry run.');
}

function renderLine(terminal: Terminal, { ref, did, tail }: SharedLine, dryRun: boolean): string {
  const steps = `${dryRun ? 'would be ' : ''}${[...new Set(did.map((step) => words[step]))].join(', ')}`;
  const where = tail === null ? '' : `; what was only here ${dryRun ? 'would be' : 'is now'} on ${toLabel(tail)}`;
  return `${terminal.style('bold', toLabel(ref))}  ${steps}${where}`;
}

/** Names a line that stays unchanged although the two sides differ. */
function printLeft(terminal: Terminal, { ref, session, standing, problem }: SharedLine, remote: string): void {
  if (problem !== null) return;
  const name = toLabel(ref);
  const word = toShellWord(session ?? name);
  const again = `teddy push ${remote} -s ${word}`;
  if (standing === 'gone') terminal.say(`${name} was deleted on ${remote}, but kept here. To send it again: ${again}`);
  if (standing === 'archived-there')
    terminal.say(
      `${name} was archived on ${remote}, but kept here. To archive it: teddy archive ${word}; to send it again: ${again}`,
    );
  if (standing === 'archived-here')
    terminal.say(
      `${remote} still has ${name}. To archive the whole session, and delete it there: teddy archive ${word} --remote=${remote}`,
    );
  if (standing === 'renamed') terminal.say(`${remote} has ${name}, which has another name here.`);
}

/**
 * Names the branches that teddy did not send, so that nobody believes that the remote has them. When the user named one
 * session, omits other sessions' branches.
 */
function printLeftOut(terminal: Terminal, refs: readonly RefName[], push: string, selector: string | undefined): void {
  const left = selector === undefined ? refs : refs.filter((ref) => parseLineRef(ref) === null);
  const [first] = left;
  if (first === undefined) return;
  const isAll = left.some((ref) => parseLineRef(ref) !== null);
  const way = isAll ? `all sessions: ${push} --all` : `one: ${push} -s ${toShellWord(toLabel(first))}`;
  terminal.say(`Not sent: ${nameSome(left.map(toLabel))}. To send ${way}`);
}

/** Lists the months for which the remote has archives, because teddy fetches archives only on request. */
function printMonthsLeft(terminal: Terminal, months: readonly string[], verb: string, remote: string): void {
  const [newest] = months;
  if (newest === undefined) return;
  terminal.say(
    `Archived sessions from ${nameSome(months)} were not fetched from ${remote}. To fetch those from one month: teddy ${verb} ${remote} --all --archive ${newest}`,
  );
}

/** Suggests pushing what the pull fetched: without `-s`, all sessions or the one that HEAD is on. */
function printAhead(terminal: Terminal, { remote, session, lines }: Shared, selector: string | undefined): void {
  const ahead = lines.filter(
    ({ standing, did, problem }) =>
      problem === null && (standing === 'push' || standing === 'only-local' || did.includes('merged')),
  );
  if (ahead.length === 0) return;
  const name = toVisible(remote.label);
  const many = ahead.length === 1 ? '1 line has' : `${ahead.length} lines have`;
  const scope = selector !== undefined ? ` -s ${toShellWord(selector)}` : session === null ? ' --all' : '';
  terminal.say(`${many} something that ${name} lacks: teddy push ${name}${scope}`);
}

/** Names a ref as git does: `archive/...` for a line that survives without a branch. */
function toLabel(ref: RefName): string {
  return toVisible(nameRef(ref));
}

/**
 * Reports obstacles. A line that was rejected here, or that the remote refused while others arrived, determines the exit
 * code, so that nobody can miss it.
 */
export function endShared(terminal: Terminal, shared: Shared, { json }: { json: boolean }): number {
  const lines = [...shared.lines, ...(shared.pushed?.lines ?? [])];
  const problems = lines.flatMap(({ problem }) => problem ?? []);
  const all = shared.refusal === null ? problems : [...problems, shared.refusal];
  if (!json) for (const problem of all) renderError(terminal, problem, { json: false, debug: false });
  const isRejected = problems.some(({ code }) => code === 'HOSTILE_SESSION' || code === 'REMOTE_REFUSED');
  return isRejected ? exitCodes.HOSTILE_SESSION : (shared.refusal?.exitCode ?? problems[0]?.exitCode ?? 0);
}

export function toSharedJson(
  { remote, session, lines, leftOut, monthsLeft, notes, refusal, pushed }: Shared,
  dryRun: boolean,
): object {
  return {
    remote: remote.label,
    session,
    dryRun,
    lines: lines.map(({ problem, violations, ...line }) => ({
      ...line,
      problem: problem === null ? null : { ...errorDocument(problem), violations },
    })),
    leftOut,
    monthsLeft,
    notes,
    error: refusal === null ? null : errorDocument(refusal),
    ...(pushed && { pushed: toSharedJson(pushed, dryRun) }),
  };
}
