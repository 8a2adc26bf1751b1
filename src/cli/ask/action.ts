/** One action at the terminal: what it will do, and the question. */
import { posix } from 'node:path';
import { TeddyError } from '../../errors.ts';
import { decodeText } from '../../plan/decode-text.ts';
import { renderUnifiedDiff } from '../../plan/diff.ts';
import type { Effect } from '../../plan/effect.ts';
import type { Action } from '../../plan/plan.ts';
import type { Approval } from '../../workflow/run/approver.ts';
import { describeAction } from '../../plan/describe-action.ts';
import { askLine } from './line.ts';
import { colorDiff } from '../render/color-diff.ts';
import { renderEffect } from '../render/effect.ts';
import { toVisible, type Terminal } from '../terminal.ts';
import { pairWords } from '../render/word-diff.ts';

export interface ActionTools {
  terminal: Terminal;
  /** Aborts a question. */
  signal: AbortSignal;
  /** Opens the user's editor and returns what it left. Throws TeddyError when the editor fails. */
  edit(initial: string, fileName: string): Promise<string>;
  /** Shows a long text on stdout, through the pager. */
  page(text: string): Promise<void>;
}

interface Asked {
  action: Action;
  effect: Effect;
  count: number;
}

const letters = {
  y: 'yes, do it',
  n: 'no, skip this action and go on',
  a: 'yes, and all the rest',
  e: 'edit it first, in your editor',
  d: 'show the whole diff',
  q: 'stop here; the rest is skipped, and the report says so',
  '?': 'this help',
};
type Letter = keyof typeof letters;

const decisions = { y: 'yes', n: 'no', a: 'all', q: 'quit' } as const;

const verbs = {
  write: 'Write this?',
  command: 'Run this?',
  read: 'Show this to the model?',
  fetch: 'Fetch this for the model?',
  search: 'Search for this?',
  prune: 'Take this out of the context?',
  ask: 'Answer this?',
  invoke: 'Hand over?',
};

export async function askAction(tools: ActionTools, { action, effect, count }: Asked): Promise<Approval> {
  const { terminal, signal } = tools;
  const title = describeAction(action);
  terminal.say('');
  terminal.say(terminal.style('bold', `${action.index}/${count} ${toVisible(title)}`, 'stderr'));
  if (action.description !== null) terminal.say(terminal.style('dim', toVisible(action.description), 'stderr'));
  let edited: string | undefined;
  showEffect(terminal, effect, title);
  for (;;) {
    const shown = withText(effect, edited);
    const usable = lettersOf(shown);
    const question = `${verbs[effect.kind]} [${usable.join(',')}] `;
    const answer = await askLine(terminal, signal, terminal.style('bold', question, 'stderr'));
    if (answer === null) return { decision: 'end' };
    const letter = toLetter(answer, usable);
    if (letter === 'e') {
      const next = await editEffect(tools, shown, edited);
      if (next === null) continue;
      edited = next === textOf(effect) ? undefined : next;
      showEffect(terminal, withText(effect, edited), title);
    } else if (letter === 'd') await showWholeDiff(tools, shown);
    else if (letter === null || letter === '?') terminal.say(renderHelp(usable));
    else return toApproval(decisions[letter], edited);
  }
}

function toApproval(decision: Approval['decision'], edited: string | undefined): Approval {
  const isYes = decision === 'yes' || decision === 'all';
  return isYes && edited !== undefined ? { decision, edited } : { decision };
}

/** Letters and whole words. Null: nothing that is known. */
function toLetter(answer: string, usable: Letter[]): Letter | null {
  const word = answer.trim().toLowerCase();
  const words: Record<string, Letter> = { yes: 'y', no: 'n', all: 'a', edit: 'e', diff: 'd', quit: 'q' };
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

/** What can be edited of it; null: nothing. */
function textOf(effect: Effect): string | null {
  if (effect.kind === 'command') return effect.script;
  return effect.kind === 'write' && !effect.after.includes(0) ? decodeText(effect.after) : null;
}

function withText(effect: Effect, text: string | undefined): Effect {
  if (text === undefined) return effect;
  if (effect.kind === 'command') return { ...effect, script: text };
  return effect.kind === 'write' ? { ...effect, after: new TextEncoder().encode(text) } : effect;
}

/** Null: nothing was taken over, and why was said. */
async function editEffect({ terminal, edit }: ActionTools, effect: Effect, edited?: string): Promise<string | null> {
  const initial = edited ?? textOf(effect) ?? '';
  try {
    const text = await edit(initial, effect.kind === 'write' ? posix.basename(effect.path) : 'script.sh');
    if (effect.kind !== 'command' || text.trim() !== '') return text;
    terminal.say('The script is empty; nothing was taken over. n skips the action.');
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    terminal.say(`${terminal.style('red', 'error:', 'stderr')} ${toVisible(error.message)}`);
  }
  return null;
}

/** A diff that would scroll away the question is cut. */
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

function renderDiff(
  terminal: Terminal,
  { path, before, after }: Extract<Effect, { kind: 'write' }>,
  stream: 'stdout' | 'stderr',
): string {
  const diff = renderUnifiedDiff(path, before, after);
  return diff === '' ? 'Nothing changes.' : colorDiff(terminal, diff, stream, pairWords);
}
