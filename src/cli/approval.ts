/** Asks a person at the terminal, action by action. */
import { createInterface } from 'node:readline/promises';
import { TeddyError } from '../errors.ts';
import { renderUnifiedDiff } from '../plan/diff.ts';
import type { Action, MemoChange } from '../plan/plan.ts';
import type { ActionLog } from '../plan/report.ts';
import type { Effect } from '../plan/effect.ts';
import { describeAction } from '../workflow/describe-action.ts';
import type { Approver, Decision } from '../workflow/approver.ts';
import type { SteeringText } from '../workflow/foreign-texts.ts';
import { colorDiff } from './color-diff.ts';
import { renderForeign } from './render-foreign.ts';
import { toVisible, type Terminal } from './terminal.ts';

const answers: Record<string, Decision> = {
  y: 'yes',
  yes: 'yes',
  n: 'no',
  no: 'no',
  a: 'all',
  all: 'all',
  q: 'quit',
  quit: 'quit',
};
const help = [
  'y  yes, do it',
  'n  no, skip this action and go on',
  'a  yes, and all the rest',
  'q  stop here; the rest is skipped, and the report says so',
  '?  this help',
].join('\n');

/** `signal` aborts a question; `interrupt` is called when Ctrl-C or the end of input comes in the middle of one. */
export function askingApprover(terminal: Terminal, signal: AbortSignal): Approver {
  return {
    by: 'user',
    action: ({ action, effect, count }) => askAction(terminal, signal, action, effect, count),
    async answer(text) {
      terminal.say(`\n${toVisible(text.trim())}\n`);
      return askLine(signal, terminal.style('bold', 'Your answer: ', 'stderr'));
    },
    output: (stream, text) => showOutput(terminal, stream, text),
    done: (log, count) => showDone(terminal, log, count),
  };
}

/** `-y` was given: everything is shown, nothing is asked. */
export function flagApprover(terminal: Terminal, isQuiet: boolean): Approver {
  return {
    by: 'flag',
    action: () => Promise.resolve('all'),
    answer(text) {
      if (!isQuiet) terminal.say(toVisible(text.trim()));
      return Promise.resolve(null);
    },
    output: (stream, text) => (isQuiet ? undefined : showOutput(terminal, stream, text)),
    done: (log, count) => (isQuiet ? undefined : showDone(terminal, log, count)),
  };
}

/** Throws INTERRUPTED on Ctrl-C: that decides nothing. The end of input is a no. */
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
  const question = terminal.style('bold', 'Approve these memory updates? (y/n) ', 'stderr');
  return askYesNo(signal, question, 'The plan is still pending: `teddy session execute`.');
}

/** Shows what nobody here has seen yet. Throws INTERRUPTED on Ctrl-C; the end of input is a no. */
export async function askForeign(terminal: Terminal, signal: AbortSignal, texts: SteeringText[]): Promise<boolean> {
  terminal.say('What the model is told and shown comes from elsewhere here, and you have not accepted it yet:\n');
  terminal.say(renderForeign(terminal, texts, 'stderr'));
  const question = terminal.style('bold', 'Use them? (y/n) ', 'stderr');
  return askYesNo(signal, question, 'Run the command again; `teddy global trust --dry-run` shows them too.');
}

async function askYesNo(signal: AbortSignal, question: string, hint: string): Promise<boolean> {
  for (;;) {
    const line = await askLine(signal, question);
    if (signal.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted before anything was decided.', hint);
    const answer = line?.trim().toLowerCase();
    if (answer === 'y' || answer === 'yes') return true;
    if (answer === undefined || answer === 'n' || answer === 'no') return false;
  }
}

async function askAction(
  terminal: Terminal,
  signal: AbortSignal,
  action: Action,
  effect: Effect,
  count: number,
): Promise<Decision> {
  terminal.say('');
  terminal.say(terminal.style('bold', `${action.index}/${count} ${toVisible(describeAction(action))}`, 'stderr'));
  if (action.description !== null) terminal.say(terminal.style('dim', toVisible(action.description), 'stderr'));
  const shown = renderEffect(terminal, effect, describeAction(action));
  if (shown !== '') terminal.say(shown);
  for (;;) {
    const question = terminal.style('bold', `${verbs[effect.kind]} [y,n,a,q,?] `, 'stderr');
    const answer = await askLine(signal, question);
    if (answer === null) return 'quit';
    const decision = answers[answer.trim().toLowerCase()];
    if (decision !== undefined) return decision;
    terminal.say(help);
  }
}

const verbs = {
  write: 'Write this?',
  command: 'Run this?',
  read: 'Show this to the model?',
  fetch: 'Fetch this for the model?',
  prune: 'Take this out of the context?',
  ask: 'Answer this?',
  invoke: 'Hand over?',
};

/** What will happen, as far as `title` does not say it. */
function renderEffect(terminal: Terminal, effect: Effect, title: string): string {
  if (effect.kind === 'write') return colorDiff(terminal, renderUnifiedDiff(effect.path, effect.before, effect.after));
  if (effect.kind === 'read' || effect.kind === 'fetch') {
    const shown = effect.kind === 'read' ? effect.path : effect.url;
    const lines = effect.lines === null ? [] : [`lines ${effect.lines}`];
    const said = [...(title.endsWith(` ${shown}`) ? [] : [shown]), ...lines];
    return said.length === 0 ? '' : toVisible(`  ${said.join(', ')}`);
  }
  if (effect.kind === 'prune') return title.endsWith(` ${effect.resource}`) ? '' : toVisible(`  ${effect.resource}`);
  if (effect.kind === 'invoke') return toVisible(`  hand over to ${effect.agent}: ${effect.text}`);
  if (effect.kind === 'ask') return '';
  const env = Object.entries(effect.env).map(([key, value]) => `  ${key}=${value}`);
  const place = effect.cwd === '.' ? [] : [`  in ${effect.cwd}`];
  const script = effect.script
    .trimEnd()
    .split('\n')
    .map((line) => `  $ ${line}`);
  return [...place, ...env, ...script].map(toVisible).join('\n');
}

/** Null: Ctrl-C, or the input has ended. */
async function askLine(signal: AbortSignal, question: string): Promise<string | null> {
  if (signal.aborted) return null;
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
  const ended = new Promise<null>((resolve) => lines.once('close', () => resolve(null)));
  // In raw mode Ctrl-C is a key, not a signal; it has to mean the same.
  lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return await Promise.race([lines.question(question, { signal }), ended]);
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  } finally {
    lines.close();
  }
}

function showOutput(terminal: Terminal, stream: 'stdout' | 'stderr', text: string): void {
  const shown = toVisible(text.replace(/\n$/, ''));
  terminal.say(stream === 'stderr' ? terminal.style('dim', shown, 'stderr') : shown);
}

const marks = { SUCCESS: 'green', FAILURE: 'red', SKIPPED: 'yellow', ABORTED: 'red' } as const;

function showDone(terminal: Terminal, log: ActionLog, count: number): void {
  const target = toVisible(String(Object.values(log.params)[0] ?? '').split('\n')[0] ?? '');
  const code =
    log.details?.return_code === undefined || log.details.return_code === 0 ? '' : `, exit ${log.details.return_code}`;
  const reason = log.details?.reason === undefined ? '' : ` (${toVisible(log.details.reason)})`;
  terminal.say(
    `${terminal.style(marks[log.status], log.status, 'stderr')} ${log.index}/${count} ${log.action_type} ${target}${code}${reason}`,
  );
}
