/** Asks the user at the terminal about each action in turn. */
import { posix } from 'node:path';
import { TeddyError } from '../../errors.ts';
import type { ActionLog } from '../../plan/report/report.ts';
import type { Approval, Approver } from '../../workflow/run/run.ts';
import type { SteeringText } from '../../workflow/line/foreign-texts.ts';
import { askLine, askText } from './line.ts';
import { formatDuration } from '../../session/spending/describe-spending.ts';
import { showRunning } from '../render/progress.ts';
import { renderForeign } from '../render/problems.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import type { MemoChange } from '../../session/global/memos.ts';
import { renderUnifiedDiff } from '../../plan/match/diff.ts';
import { joinWrites, withText, type Effect, type WriteEffect } from '../../plan/effects/effect.ts';
import { decodeText } from '../../session/text/bytes.ts';
import { describeAction, handlerOf } from '../../plan/actions/actions.ts';
import type { Action } from '../../plan/plan.ts';
import { colorDiff } from '../render/color-diff.ts';
import { renderEffect } from '../render/effect.ts';
import { pairWords } from '../../plan/match/word-diff.ts';

/** `all` with -y; `none` when teddy cannot ask anybody. */
export type ApprovalMode = 'all' | 'ask' | 'none';

/** Returns an approver that asks the user. `signal` aborts a question. */
export function askingApprover(tools: ActionTools): Approver {
  const { terminal, signal } = tools;
  const asked = new Set<number>();
  return {
    by: 'user',
    begin: (effects) => Promise.resolve(showSummary(terminal, effects)),
    action(about) {
      asked.add(about.action.index);
      return askAction(tools, about);
    },
    during: (started, use) => showDuring(terminal, { ...started, isAnnounced: asked.has(started.action.index) }, use),
    async answer(text) {
      terminal.say(`\n${toVisible(text.trim())}\n`);
      return askAnswer(terminal, signal);
    },
    output: (stream, text) => showOutput(terminal, stream, text),
    done: (log, count) => showDone(terminal, log, count),
  };
}

/**
 * The user probably pressed Enter by mistake; a second Enter sends the empty answer. Throws INTERRUPTED on Ctrl-C and
 * at the end of input.
 */
async function askAnswer(terminal: Terminal, signal: AbortSignal): Promise<string> {
  for (let isEmpty = false; ; isEmpty = true) {
    const answer = await askText(terminal, signal, terminal.style('bold', 'Your answer: ', 'stderr'));
    if (answer === null) throw new TeddyError('INTERRUPTED', 'Interrupted before it was answered.');
    if (isEmpty || answer.trim() !== '') return answer;
    terminal.say('That is an empty answer. Press Enter again to send it, or Ctrl-C to decide later.');
  }
}

/** Returns the approver for `-y`, which shows everything and asks nothing. */
export function flagApprover(terminal: Terminal, isQuiet: boolean): Approver {
  return {
    by: 'flag',
    begin: () => Promise.resolve(),
    action: () => Promise.resolve({ decision: 'all' }),
    during: (started, use) => (isQuiet ? use() : showDuring(terminal, { ...started, isAnnounced: false }, use)),
    answer(text) {
      if (!isQuiet) terminal.say(toVisible(text.trim()));
      return Promise.resolve(null);
    },
    output: (stream, text) => (isQuiet ? undefined : showOutput(terminal, stream, text)),
    done: (log, count) => (isQuiet ? undefined : showDone(terminal, log, count)),
  };
}

/** Asks about the memos. Throws INTERRUPTED on Ctrl-C and at the end of input; neither decides anything. */
export async function askMemos(terminal: Terminal, signal: AbortSignal, changes: MemoChange[]): Promise<boolean> {
  terminal.say('The plan proposes to change the memos:');
  for (const { kind, fact } of changes) {
    terminal.say(
      terminal.style(
        kind === 'add' ? 'green' : 'red',
        `  [${kind === 'add' ? '+' : '-'}] ${toVisible(fact)}`,
        'stderr',
      ),
    );
  }
  const question = terminal.style('bold', 'Change these memos? [y,n,q,?] ', 'stderr');
  return askYesNo(terminal, signal, question, {
    hint: 'The plan is still pending: `teddy execute`.',
    endIsNo: false,
    help: 'y  accept them: teddy includes them in every session\nn  leave the memos as they are, and continue with the plan',
  });
}

/** Asks whether to accept texts that nobody here has accepted yet. Throws INTERRUPTED on Ctrl-C; the end of input means no. */
export async function askForeign(terminal: Terminal, signal: AbortSignal, texts: SteeringText[]): Promise<boolean> {
  terminal.say(
    'These texts decide what the model is told and shown. They came from elsewhere, and you have not accepted them yet:\n',
  );
  terminal.say(renderForeign(terminal, texts, 'stderr'));
  const question = terminal.style('bold', 'Use them? [y,n,q,?] ', 'stderr');
  const hint = 'Run the command again; `teddy global trust --dry-run` shows them too.';
  const help = 'y  use them, now and later\nn  do not use them, and stop here';
  return askYesNo(terminal, signal, question, { hint, endIsNo: true, help });
}

async function askYesNo(
  terminal: Terminal,
  signal: AbortSignal,
  question: string,
  { hint, endIsNo, help }: { hint: string; endIsNo: boolean; help: string },
): Promise<boolean> {
  for (;;) {
    const line = await askLine(terminal, signal, question);
    const answer = line?.trim().toLowerCase();
    if (signal.aborted || (line === null && !endIsNo) || answer === 'q' || answer === 'quit')
      throw new TeddyError('INTERRUPTED', 'Interrupted before a decision was made.', hint);
    if (answer === 'y' || answer === 'yes') return true;
    if (answer === undefined || answer === 'n' || answer === 'no') return false;
    terminal.say(`${help}\nq  decide later\n?  this help`);
  }
}

function showOutput(terminal: Terminal, stream: 'stdout' | 'stderr', text: string): void {
  const shown = toVisible(text.replace(/\n$/, ''));
  terminal.say(stream === 'stderr' ? terminal.style('dim', shown, 'stderr') : shown);
}

async function showDuring<Value>(
  terminal: Terminal,
  { action, count, isAnnounced }: { action: Action; count: number; isAnnounced: boolean },
  use: () => Promise<Value>,
): Promise<Value> {
  if (!isAnnounced) announce(terminal, action, count);
  // An action that asks the user needs no approval first.
  if (handlerOf(action).asks) return use();
  const stop = showRunning(terminal, `Running ${action.index}/${count}`);
  return use().finally(stop);
}

function announce(terminal: Terminal, action: Action, count: number): void {
  const title = toVisible(describeAction(action));
  terminal.say(terminal.style('bold', `${action.index}/${count} ${title}`, 'stderr'));
}

const marks = { SUCCESS: 'green', FAILURE: 'red', SKIPPED: 'yellow', ABORTED: 'red' } as const;

function showDone(terminal: Terminal, log: ActionLog, count: number): void {
  const target = toVisible(String(Object.values(log.params)[0] ?? '').split('\n')[0] ?? '');
  const code = log.details?.timed_out
    ? ', timed out'
    : log.details?.return_code === undefined || log.details.return_code === 0
      ? ''
      : `, exit ${log.details.return_code}`;
  const time = log.duration_ms === undefined ? '' : `, ${formatDuration(log.duration_ms)}`;
  const reason = log.details?.reason === undefined ? '' : ` (${toVisible(log.details.reason)})`;
  const comment = log.details?.comment === undefined ? '' : `\n  ${toVisible(log.details.comment)}`;
  const note = log.details?.note === undefined ? '' : `\n  ${toVisible(log.details.note)}`;
  terminal.say(
    `${terminal.style(marks[log.status], log.status, 'stderr')} ${log.index}/${count} ${log.action_type} ${target}${code}${time}${reason}${comment}${note}`,
  );
}

/** Shows everything that a plan will do before asking the first question. */
function showSummary(terminal: Terminal, effects: readonly Effect[]): void {
  if (effects.length === 0) return;
  const files = joinWrites(effects);
  const commands = effects.flatMap((effect) =>
    effect.kind === 'command' ? [`  $ ${toFirstLine(effect.script)}`] : [],
  );
  const others = effects.flatMap((effect) => (isOther(effect) ? [`  ${describeOther(effect)}`] : []));
  const counts = [
    ...count(files.length, 'file'),
    ...count(commands.length, 'command'),
    ...count(others.length, 'other action'),
  ];
  const title = terminal.style('bold', `The plan: ${counts.join(', ')}`, 'stderr');
  const lines = [...files.map(describeFile), ...commands, ...others].map((line) => toVisible(line).replace(/\n/g, ' '));
  terminal.say([title, ...lines].join('\n'));
}

function describeFile({ path, before, after }: WriteEffect): string {
  const diff = renderUnifiedDiff(path, before, after).split('\n');
  const changes = diff.slice(diff.findIndex((line) => line.startsWith('@@')) + 1);
  const signed = (sign: string) => changes.filter((line) => line.startsWith(sign)).length;
  const size = diff[0]?.startsWith('Binary') ? 'binary' : `+${signed('+')} -${signed('-')}`;
  return `  ${path}  ${size}${before === null ? '  new' : ''}`;
}

const isOther = ({ kind }: Effect): boolean => kind !== 'write' && kind !== 'command';

function describeOther(effect: Effect): string {
  if (effect.kind === 'search') return `search ${effect.queries.join(', ')}`;
  const [target] = ['path', 'url', 'resource', 'agent', 'text'].flatMap((key) =>
    key in effect ? [String(effect[key as keyof Effect])] : [],
  );
  return `${effect.kind} ${toFirstLine(target ?? '')}`.trimEnd();
}

function toFirstLine(text: string): string {
  const [first = '', ...more] = text.trim().split('\n');
  return more.length === 0 ? first : `${first} ...`;
}

function count(number: number, name: string): string[] {
  return number === 0 ? [] : [`${number} ${name}${number === 1 ? '' : 's'}`];
}

/** The terminal, editor and pager that a question about an action needs. */
export interface ActionTools {
  terminal: Terminal;
  /** Aborts a question. */
  signal: AbortSignal;
  /** Opens the user's editor and returns the edited text. Throws TeddyError when the editor fails. */
  edit(initial: string, fileName: string): Promise<string>;
  /** Shows a long text on stdout through the pager. */
  page(text: string): Promise<void>;
}

interface Asked {
  action: Action;
  effect: Effect;
  count: number;
  isLast: boolean;
}

const letters = {
  y: 'yes, do it',
  n: 'no, skip this action and continue',
  c: 'no, and say why: the model reads it',
  a: 'yes, and all the rest',
  e: 'edit it first, in your editor',
  d: 'show the whole diff',
  x: 'close the turn; skip the rest, and record why in the report',
  q: 'decide later; the plan stays pending unless an action has run',
  '?': 'this help',
};
type Letter = keyof typeof letters;

const decisions = { y: 'yes', n: 'no', a: 'all' } as const;

const verbs = {
  write: 'Write this?',
  command: 'Run this?',
  read: 'Show this to the model?',
  fetch: 'Fetch this for the model?',
  search: 'Search for this?',
  prune: 'Remove this from the context?',
  ask: 'Answer this?',
  invoke: 'Hand over?',
};

export async function askAction(tools: ActionTools, { action, effect, count, isLast }: Asked): Promise<Approval> {
  const { terminal, signal } = tools;
  const title = describeAction(action);
  terminal.say('');
  announce(terminal, action, count);
  if (action.description !== null) terminal.say(terminal.style('dim', toVisible(action.description), 'stderr'));
  let edited: string | undefined;
  showEffect(terminal, effect, title);
  for (;;) {
    const shown = edited === undefined ? effect : withText(effect, edited);
    const usable = lettersOf(shown);
    const question = `${verbs[effect.kind]} [${usable.join(',')}] `;
    const answer = await askLine(terminal, signal, terminal.style('bold', question, 'stderr'));
    const letter = answer === null ? 'q' : toLetter(answer, usable);
    if (letter === 'q') return { decision: 'end' };
    if (letter === 'e') {
      const next = await editEffect(tools, shown, edited);
      if (next === null) continue;
      edited = next === textOf(effect) ? undefined : next;
      showEffect(terminal, withText(effect, next), title);
    } else if (letter === 'd') await showWholeDiff(tools, shown);
    else if (letter === null || letter === '?') terminal.say(renderHelp(usable));
    else if (letter === 'c' || letter === 'x') {
      const why = await askWhy(tools, letter, isLast);
      if (why !== null) return why;
    } else return toApproval(decisions[letter], edited);
  }
}

/** Returns null when the user decides not to close the turn after all. The end of input keeps a no. */
async function askWhy({ terminal, signal }: ActionTools, letter: 'c' | 'x', isLast: boolean): Promise<Approval | null> {
  const ask = (question: string) => askLine(terminal, signal, terminal.style('bold', question, 'stderr'));
  if (letter === 'x' && !/^y(es)?$/i.test((await ask('Close the turn, and skip the rest? [y,n] '))?.trim() ?? ''))
    return null;
  const reason = letter === 'x' ? 'Why? (Enter for no reason) ' : 'What should be different? ';
  const comment = (await askText(terminal, signal, terminal.style('bold', reason, 'stderr')))?.trim();
  const why = comment === undefined || comment === '' ? {} : { comment };
  if (letter === 'x') return { decision: 'quit', ...why };
  if (isLast) return { decision: 'no', ...why };
  for (;;) {
    const answer = (await ask('Continue with the other actions? [y,n] '))?.trim().toLowerCase();
    if (answer === 'y' || answer === 'yes') return { decision: 'no', ...why };
    if (answer === undefined || answer === 'n' || answer === 'no') return { decision: 'quit', declines: true, ...why };
    terminal.say('y  ask about the next action\nn  stop here; the rest is skipped');
  }
}

function toApproval(decision: Approval['decision'], edited: string | undefined): Approval {
  const isYes = decision === 'yes' || decision === 'all';
  return isYes && edited !== undefined ? { decision, edited } : { decision };
}

/** Reads letters and whole words. Returns null when the answer is neither. */
function toLetter(answer: string, usable: Letter[]): Letter | null {
  const word = answer.trim().toLowerCase();
  const words: Record<string, Letter> = {
    yes: 'y',
    no: 'n',
    comment: 'c',
    all: 'a',
    edit: 'e',
    diff: 'd',
    close: 'x',
    quit: 'q',
  };
  return usable.find((letter) => letter === (words[word] ?? word)) ?? null;
}

function lettersOf(effect: Effect): Letter[] {
  const canEdit = textOf(effect) !== null;
  return (Object.keys(letters) as Letter[]).filter(
    (letter) => (letter !== 'e' || canEdit) && (letter !== 'd' || effect.kind === 'write'),
  );
}

function renderHelp(usable: Letter[]): string {
  return usable.map((letter) => `${letter}  ${letters[letter]}`).join('\n');
}

/** Returns the text that the user can edit, or null when the effect has none. */
function textOf(effect: Effect): string | null {
  if (effect.kind === 'command') return effect.script;
  return effect.kind === 'write' && !effect.after.includes(0) ? decodeText(effect.after) : null;
}

/** Returns null when the edited text was not accepted; by then, the user has seen the reason. */
async function editEffect({ terminal, edit }: ActionTools, effect: Effect, edited?: string): Promise<string | null> {
  const initial = edited ?? textOf(effect) ?? '';
  try {
    const text = await edit(initial, effect.kind === 'write' ? posix.basename(effect.path) : 'script.sh');
    if (effect.kind !== 'command' || text.trim() !== '') return text;
    terminal.say('The script is empty, so your edit was discarded. n skips the action.');
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    terminal.say(`${terminal.style('red', 'error:', 'stderr')} ${toVisible(error.message)}`);
  }
  return null;
}

/** Shows the effect, and cuts its diff when it would scroll the question out of sight. */
function showEffect(terminal: Terminal, effect: Effect, title: string): void {
  if (effect.kind !== 'write') {
    const shown = renderEffect(effect, title);
    return shown === '' ? undefined : terminal.say(shown);
  }
  const lines = renderDiff(terminal, effect, 'stderr').split('\n');
  const limit = Math.floor(((terminal.context.stderr.rows || 24) * 2) / 3);
  if (lines.length <= limit + 1) return terminal.say(lines.join('\n'));
  terminal.say(lines.slice(0, limit).join('\n'));
  terminal.say(terminal.style('dim', `... ${lines.length - limit} more lines (d shows all)`, 'stderr'));
}

async function showWholeDiff({ terminal, page }: ActionTools, effect: Effect): Promise<void> {
  if (effect.kind !== 'write') return;
  if (!terminal.isOutputTty) return terminal.say(renderDiff(terminal, effect, 'stderr'));
  await page(`${renderDiff(terminal, effect, 'stdout')}\n`);
}

function renderDiff(terminal: Terminal, { path, before, after }: WriteEffect, stream: 'stdout' | 'stderr'): string {
  const diff = renderUnifiedDiff(path, before, after);
  return diff === '' ? 'Nothing changes.' : colorDiff(terminal, diff, stream, pairWords);
}
