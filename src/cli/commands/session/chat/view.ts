/** Shows a conversation's turn live: the answer, the calls and their output, and the files that it writes. */
import type { ApprovalMode } from '../../../ask/approval.ts';
import type { AllowedCommand } from '../../../../conversation/prompts/allowed-commands.ts';
import type { ResultReason } from '../../../../conversation/records/record.ts';
import type { CallDecision, ChatListener, ShownCall, ToolOutcome } from '../../../../workflow/chat/chat.ts';
import type { WriteRecord } from '../../../../write/write.ts';
import { openOutputLines, type OutputLines } from './output.ts';
import { showProgress, showRunning, type AnswerProgress } from '../../../render/progress.ts';
import { visibleChunks, type Terminal } from '../../../terminal.ts';
import { toVisible } from '../../../../session/text/visible-text.ts';
import { showWriteProgress, type WriteProgress } from '../../../render/write-progress.ts';
import { formatCount } from '../../../../session/text/format-count.ts';
import { parseObject } from '../../../../session/text/parse-object.ts';
import { TeddyError } from '../../../../errors.ts';
import { colorDiff } from '../../../render/color-diff.ts';
import { pairWords } from '../../../../plan/match/word-diff.ts';
import { askLine, askText } from '../../../ask/line.ts';

export interface ChatViewOptions {
  signal: AbortSignal;
  /** True to print the text as it arrives. */
  isStreamed: boolean;
  /** True to show nothing. */
  isQuiet: boolean;
  approval: ApprovalMode;
}

export interface CalledTool {
  name: string;
  summary: string;
  outcome: 'done' | 'failed' | ResultReason;
}

export interface ChatView {
  listener: ChatListener;
  /** The calls with their results, in order. */
  calls: CalledTool[];
  /**
   * Removes the progress display and ends the line; callers may call it more than once. Returns the time since the
   * first request, or null.
   */
  end(): number | null;
}

interface Viewing extends ChatViewOptions {
  terminal: Terminal;
  calls: CalledTool[];
  /** The IDs of the calls that the user has seen. */
  shown: Set<string>;
  begunMs: number | null;
  progress: AnswerProgress | null;
  /** The answer's text since the last call that has not been printed yet. */
  held: string;
  file: WriteProgress;
  /** Removes the timer of the running command. */
  stopRunning(): void;
}

export function viewChat(terminal: Terminal, options: ChatViewOptions): ChatView {
  const calls: CalledTool[] = [];
  const file = showWriteProgress(terminal);
  const viewing: Viewing = {
    ...options,
    terminal,
    calls,
    shown: new Set(),
    begunMs: null,
    progress: null,
    held: '',
    file,
    stopRunning: () => undefined,
  };
  const output = openOutputLines((line) => {
    if (!options.isQuiet) printDim(terminal, `  ${line}`);
  });
  return {
    calls,
    listener: {
      ...viewAnswer(viewing),
      ...viewCalls(viewing, output),
      approve: toApproval(viewing),
      file: viewFile(viewing),
    },
    end() {
      viewing.progress?.end();
      viewing.stopRunning();
      file.hide();
      output.end();
      terminal.endLine();
      return viewing.begunMs === null ? null : performance.now() - viewing.begunMs;
    },
  };
}

function viewAnswer(viewing: Viewing): Pick<ChatListener, 'onAsk' | 'onText' | 'onUsage'> {
  const { terminal, isStreamed, isQuiet } = viewing;
  let toChunk = visibleChunks();
  return {
    onAsk({ line, turn, agent, label, request }) {
      toChunk = visibleChunks();
      viewing.held = '';
      viewing.begunMs ??= performance.now();
      viewing.progress?.end();
      if (isQuiet) return;
      if (request === 1) printDim(terminal, `Turn ${turn} of ${line.session}: asking ${label} as ${agent} ...`);
      viewing.progress = showProgress(terminal, { isStreamed });
    },
    onText(text) {
      viewing.progress?.text(text);
      if (isStreamed) terminal.print(toChunk(text));
      else viewing.held += text;
    },
    onUsage: (usage) => viewing.progress?.usage(usage),
  };
}

/** Shows text before a call only to the user; the answer follows the results. */
function endText(viewing: Viewing): void {
  const { terminal, isStreamed, isQuiet, held, file } = viewing;
  file.hide();
  viewing.progress?.end();
  viewing.progress = null;
  viewing.held = '';
  if (isQuiet) return;
  if (isStreamed) terminal.endLine();
  else if (held.trim() !== '') terminal.say(toVisible(held.trimEnd()));
}

function viewCalls(viewing: Viewing, output: OutputLines): Pick<ChatListener, 'onCall' | 'onOutput' | 'onResult'> {
  const { terminal, isQuiet, calls, shown } = viewing;
  const show = ({ id, summary }: ShownCall) => {
    if (!isQuiet && !shown.has(id)) printDim(terminal, toVisible(summary));
    shown.add(id);
  };
  return {
    onCall(call) {
      endText(viewing);
      show(call);
      if (!isQuiet && call.name === 'run_command') viewing.stopRunning = showRunning(terminal, 'Running');
    },
    onOutput: (stream, text) => output.take(stream, text),
    onResult(call, outcome) {
      endText(viewing);
      viewing.stopRunning();
      output.end();
      calls.push({ name: call.name, summary: call.summary, outcome: toWord(outcome) });
      // A call that was denied or not understood never ran.
      show(call);
      if (!isQuiet) printDim(terminal, `  ${describeResult(call, outcome)}`);
    },
  };
}

function toWord({ isError, reason }: ToolOutcome): CalledTool['outcome'] {
  return reason ?? (isError ? 'failed' : 'done');
}

function toApproval(viewing: Viewing): ChatListener['approve'] {
  const { terminal, approval, signal, shown } = viewing;
  if (approval === 'none') return null;
  if (approval === 'all') return () => Promise.resolve(true);
  return async (call: ShownCall) => {
    endText(viewing);
    // The change to a file becomes known only after its call is shown.
    if (!shown.has(call.id)) terminal.say(terminal.style('bold', toVisible(call.summary), 'stderr'));
    shown.add(call.id);
    return askCall(terminal, signal, call);
  };
}

function viewFile(viewing: Viewing): ChatListener['file'] {
  const { terminal, isQuiet, file: progress } = viewing;
  let target = '';
  const say = (text: string) => {
    progress.hide();
    if (!isQuiet) terminal.say(text);
  };
  return {
    onBegun(record: WriteRecord) {
      target = record.target;
      endText(viewing);
      if (!isQuiet) progress.wait();
    },
    onContent(received) {
      if (!isQuiet) progress.content(target, received);
    },
    onPrompt: () =>
      say(terminal.style('dim', `${toVisible(target)} has no end marker yet: asking the model for it.`, 'stderr')),
    onFindings: (text) => say(toVisible(text)),
  };
}

function printDim(terminal: Terminal, text: string): void {
  terminal.say(terminal.style('dim', text, 'stderr'));
}

/** Describes a call's result in a few words. */
const reasons = {
  denied: 'denied',
  instructed: 'not run; the model follows your instruction',
  aborted: 'stopped',
  recovered: 'interrupted',
};

export function describeResult({ name }: Pick<ShownCall, 'name'>, { output, isError, reason }: ToolOutcome): string {
  if (reason !== undefined) return reasons[reason];
  if (name === 'WritePlanTool_begin' || name === 'edit_file') return describeWritten(output, isError);
  const text = toVisible(output.trim());
  const [first = ''] = text.split('\n');
  if (isError) return first === '' ? 'failed' : `failed: ${cut(first)}`;
  // The command's output already appeared while it ran.
  if (name === 'run_command') return cut(first);
  if (text === '') return 'nothing';
  const lines = text.split('\n').length;
  return lines === 1 ? cut(first) : `${formatCount(lines)} lines`;
}

/** The model receives this result as JSON. */
function describeWritten(output: string, isError: boolean): string {
  const { written_path: path, commit, error } = parseObject(output) ?? {};
  if (typeof path === 'string' && typeof commit === 'string')
    return `${cut(toVisible(path))} was written and committed as ${commit.slice(0, 10)}`;
  if (typeof error === 'string') return `failed: ${cut(toVisible(error).split('\n')[0] ?? '')}`;
  if (!isError) return 'done';
  const [first = ''] = toVisible(output.trim()).split('\n');
  return first === '' ? 'failed' : `failed: ${cut(first)}`;
}

const maxShown = 160;

function cut(text: string): string {
  const characters = [...text];
  return characters.length <= maxShown ? text : `${characters.slice(0, maxShown).join('')}...`;
}

/** Asks about a call. Throws INTERRUPTED on Ctrl-C; the end of the input means no. */
async function askCall(terminal: Terminal, signal: AbortSignal, call: ShownCall): Promise<CallDecision> {
  const isCut = showDetail(terminal, call, maxLines(terminal));
  const { allowable } = call;
  if (allowable?.words) terminal.say(toVisible(describeWords(allowable.words)));
  const usable = [
    'y',
    ...(allowable ? ['a'] : []),
    ...(allowable?.words ? ['p'] : []),
    'n',
    'i',
    ...(isCut ? ['e'] : []),
    '?',
  ];
  for (;;) {
    const answer = await askLine(
      terminal,
      signal,
      terminal.style('bold', `Allow this? [${usable.join(',')}] `, 'stderr'),
    );
    if (signal.aborted) throw toInterrupted();
    const word = answer?.trim().toLowerCase() ?? 'n';
    if (word === 'y' || word === 'yes') return true;
    if (word === 'n' || word === 'no') return false;
    const allowed = word === 'a' ? 'line' : word === 'p' ? 'words' : null;
    if (allowed !== null && allowable?.[allowed]) {
      terminal.say(`Allowed for this session: ${toVisible(describeAllowed(allowable[allowed]))}.`);
      return { allow: allowed };
    }
    if (word === 'i') {
      const instruction = await askInstruction(terminal, signal);
      if (instruction !== null) return { instruction };
      continue;
    }
    if (word === 'e' && isCut) showDetail(terminal, call, Number.POSITIVE_INFINITY);
    else terminal.say(toVisible(renderLetters(call, isCut)));
  }
}

/** Returns null when the user typed nothing; the caller then asks again. */
async function askInstruction(terminal: Terminal, signal: AbortSignal): Promise<string | null> {
  const said = await askText(terminal, signal, terminal.style('bold', 'What should the model do instead? ', 'stderr'));
  if (signal.aborted) throw toInterrupted();
  return said === null || said.trim() === '' ? null : said;
}

/** Shows the detail, but cuts it when it would scroll the question out of sight. Returns true if it was cut. */
function showDetail(terminal: Terminal, { detail, isDiff }: ShownCall, limit: number): boolean {
  if (detail === null) return false;
  const lines = isDiff
    ? colorDiff(terminal, detail, 'stderr', pairWords).split('\n')
    : toVisible(detail.trimEnd()).replace(/^/gm, '  ').split('\n');
  const isCut = lines.length > limit;
  for (const line of isCut ? lines.slice(0, limit) : lines) terminal.say(line);
  if (isCut) terminal.say(terminal.style('dim', `... ${lines.length - limit} more lines (e shows all)`, 'stderr'));
  return isCut;
}

function maxLines({ context: { stderr } }: Terminal): number {
  return Math.floor(((stderr.rows || 24) * 2) / 3);
}

/** Returns `npm test` for the exact command, or `npm test ...` for every command that begins with these words. */
export function describeAllowed({ kind, text, cwd }: AllowedCommand): string {
  return `${text}${kind === 'words' ? ' ...' : ''}${cwd === null ? '' : ` (in ${cwd})`}`;
}

/** Describes what `p` covers, before the user presses it. */
function describeWords({ text, cwd }: AllowedCommand): string {
  return `p: every command that begins with "${text}"${cwd === null ? '' : ` (in ${cwd})`}`;
}

function renderLetters({ allowable }: ShownCall, isCut: boolean): string {
  return [
    'y  yes, allow it once',
    ...(allowable ? ['a  yes, and do not ask about this exact command again in this session'] : []),
    ...(allowable?.words
      ? [`p  yes, and do not ask again about commands that begin with \`${allowable.words.text}\``]
      : []),
    'n  no; end the answer here, and say what to do instead',
    'i  do not run it; say what to do instead, and let the answer continue',
    ...(isCut ? ['e  show the whole call'] : []),
    '?  this help',
  ].join('\n');
}

function toInterrupted(): TeddyError {
  return new TeddyError(
    'INTERRUPTED',
    'The call was interrupted before it was approved.',
    'The conversation up to this point is kept.',
  );
}
