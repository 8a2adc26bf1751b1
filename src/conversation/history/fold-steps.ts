/** Decides which assistant message and turn a text or a call belongs to. */
import { captureSource } from '../records/record.ts';
import type { AssistantBlock, HistoryCall, HistoryStep, HistoryTurn, UserBlock } from './history.ts';

/** A step that can still grow. */
export interface OpenStep {
  step: HistoryStep;
  /**
   * Texts after calls but before their results. If results follow, the texts are part of this answer; otherwise they
   * come after it.
   */
  tail: AssistantBlock[];
  /** A result has arrived, so the next text or call begins a new step. */
  hasResult: boolean;
}

export interface Steps {
  turns: HistoryTurn[];
  open: OpenStep | null;
  /** The last thing said, if the assistant said it. */
  lastText: AssistantBlock | null;
  /** `again`: the previous text is identical. `superseded`: the replacement text begins with it. */
  onDropped: (block: AssistantBlock, why: 'again' | 'superseded') => void;
}

export function openSteps(onDropped: Steps['onDropped']): Steps {
  return { turns: [], open: null, lastText: null, onDropped };
}

/** Joins the previous message when the assistant has said nothing in between. */
export function addSaid(steps: Steps, block: UserBlock): void {
  endStep(steps);
  const turn = steps.turns.at(-1);
  if (turn && turn.steps.length === 0) turn.said.push(block);
  else steps.turns.push({ said: [block], steps: [] });
}

export function addAnswer(steps: Steps, block: AssistantBlock): void {
  const { step, tail } = growingStep(steps);
  const texts = step.calls.length === 0 ? step.texts : tail;
  addText(steps, texts, block);
  steps.lastText = texts.at(-1) ?? null;
}

/** Adds a call and returns its step. */
export function addCall(steps: Steps, call: HistoryCall): OpenStep {
  const open = growingStep(steps);
  takeTail(steps, open);
  open.step.calls.push(call);
  steps.lastText = null;
  return open;
}

/**
 * Adds a result for one of this step's calls. Returns false when the result is too late, because the conversation has
 * moved on.
 */
export function addResultTo(steps: Steps, owner: OpenStep): boolean {
  if (steps.open !== owner) return false;
  takeTail(steps, owner);
  owner.hasResult = true;
  steps.lastText = null;
  return true;
}

/** Marks that the user interrupted the answer. Before an answer, or while tools run, there is nothing to cut. */
export function interruptAnswer(steps: Steps): void {
  if (steps.lastText) steps.lastText.isInterrupted = true;
}

/** Ends the last step: nothing can join it afterwards. */
export function endStep(steps: Steps): void {
  const tail = steps.open?.tail ?? [];
  if (tail.length > 0) steps.turns.at(-1)?.steps.push({ texts: tail, calls: [] });
  steps.open = null;
  steps.lastText = null;
}

function growingStep(steps: Steps): OpenStep {
  if (steps.open && !steps.open.hasResult) return steps.open;
  const step: HistoryStep = { texts: [], calls: [] };
  const turn = steps.turns.at(-1);
  if (turn) turn.steps.push(step);
  else steps.turns.push({ said: [], steps: [step] });
  steps.open = { step, tail: [], hasResult: false };
  return steps.open;
}

function takeTail(steps: Steps, { step, tail }: OpenStep): void {
  for (const block of tail) addText(steps, step.texts, block);
  tail.length = 0;
}

/** Keeps a repeated answer once. When an answer continues an interrupted one, keeps the longer of the two. */
function addText(steps: Steps, texts: AssistantBlock[], block: AssistantBlock): void {
  for (let last = texts.at(-1); last && last.isInterrupted; last = texts.at(-1)) {
    if (!block.text.startsWith(last.text.trimEnd())) break;
    steps.onDropped(last, 'superseded');
    texts.pop();
  }
  if (texts.at(-1)?.text === block.text && block.source !== captureSource) steps.onDropped(block, 'again');
  else texts.push(block);
}
