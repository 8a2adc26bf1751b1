/** Checks the order of a line's entries. */
import type { Entry, EntryKind } from '../entries/entry.ts';
import { compareTurns, turnNumber, type SessionId, type TurnName } from '../../names.ts';

/** `open`: there is no complete answer yet. `planned`: there is a plan without a report. `closed`: anything else. */
export type TurnStatus = 'open' | 'planned' | 'closed';

/** The facts about a line before the first checked entry. */
export interface OrderBase {
  /** Null when nothing precedes the entry. */
  created: string | null;
  turns: readonly { turn: TurnName; hasPlan: boolean; hasReport: boolean }[];
}

export interface OrderFacts {
  /** The state of the latest turn before the entry; null when there is no turn, or its state is unknown. */
  latest: TurnStatus | null;
  /** True when the turn has a message from the user; null when that is unknown. */
  hasMessage: boolean | null;
  /** True when another agent made the entry's plan, which answers no message and may begin a turn. */
  isAgentPlan?: boolean;
}

export interface LineOrder {
  /** Adds an entry and returns the problems with its position, in full sentences. */
  add(entry: Entry, facts: OrderFacts): string[];
  latest(): TurnName | null;
  has(turn: TurnName): boolean;
  /** The number of turns up to the last added entry. */
  turns(): number;
}

/** Kinds of entries with a model's answer. */
export const answerKinds: readonly EntryKind[] = ['plan', 'exchange', 'reply'];
/** Kinds of entries that may change the line's code. */
export const codeKinds: readonly EntryKind[] = ['report', 'write', 'snapshot', 'undo'];
/** Kinds of entries that may begin a turn. */
export const openingKinds: readonly EntryKind[] = ['message', 'branch', 'reply', 'exchange'];
/**
 * Kinds of entries that belong to the latest turn. An answer may come late in a conversation, and the user may undo any
 * turn.
 */
const ofLatest: readonly EntryKind[] = ['message', 'plan', 'report', 'memo', 'snapshot', 'write'];

/** Begins the check. With a `base` of null, the line begins with its first entry. */
export function openOrder(session: SessionId, base: OrderBase | null): LineOrder {
  const turns = new Map((base?.turns ?? []).map((known) => [known.turn, { ...known }]));
  const ids = new Set<string>();
  let latest = [...turns.keys()].toSorted(compareTurns).at(-1) ?? null;
  let created = base?.created ?? null;
  let isFirst = base === null;

  function checkTurn({ kind, turn }: Entry, facts: OrderFacts): string[] {
    if (turn === null) return [];
    const known = turns.get(turn);
    if (known === undefined) {
      const problems = checkOpening({ kind, turn }, latest, facts);
      turns.set(turn, { turn, hasPlan: kind === 'plan', hasReport: kind === 'report' });
      if (latest === null || compareTurns(turn, latest) > 0) latest = turn;
      return problems;
    }
    const problems = [
      ...(turn !== latest && ofLatest.includes(kind)
        ? [`A ${kind} was added to turn ${turn} after turn ${latest} began.`]
        : []),
      ...checkNext(kind, known, facts),
    ];
    if (kind === 'plan') known.hasPlan = true;
    if (kind === 'report') known.hasReport = true;
    return problems;
  }

  return {
    add(entry, facts) {
      if (entry.session !== session) return [`It is an entry of session ${entry.session}.`];
      const problems = [
        ...(isFirst === (entry.kind === 'start')
          ? []
          : [isFirst ? 'A session must begin with a start entry.' : 'A session must have only one start entry.']),
        ...(ids.has(entry.id) ? [`The entry ${entry.id} is already on the line.`] : []),
        ...(created !== null && entry.created !== created
          ? [`The session was created at ${created}, but the entry says ${entry.created}.`]
          : []),
        ...checkTurn(entry, facts),
      ];
      isFirst = false;
      created ??= entry.created;
      ids.add(entry.id);
      return problems;
    },
    latest: () => latest,
    has: (turn) => turns.has(turn),
    turns: () => turns.size,
  };
}

function checkOpening(
  { kind, turn }: { kind: EntryKind; turn: TurnName },
  before: TurnName | null,
  { latest: status, isAgentPlan = false }: OrderFacts,
): string[] {
  const expected = (before === null ? 0 : turnNumber(before)) + 1;
  const isBranch = turn.includes('-branch-');
  return [
    ...(openingKinds.includes(kind) || isAgentPlan ? [] : [`Turn ${turn} cannot begin with an entry of kind ${kind}.`]),
    ...(turnNumber(turn) === expected
      ? []
      : [`Turn ${turn} follows ${before === null ? 'no turn' : `turn ${before}`}.`]),
    ...(isBranch === (kind === 'branch') ? [] : [`Turn ${turn} cannot begin with an entry of kind ${kind}.`]),
    ...(status === 'open' ? [`Turn ${turn} begins before turn ${before} was answered.`] : []),
    ...(status === 'planned' ? [`Turn ${turn} begins before turn ${before} has a report.`] : []),
  ];
}

function checkNext(
  kind: EntryKind,
  { turn, hasPlan, hasReport }: OrderBase['turns'][number],
  { latest, hasMessage, isAgentPlan = false }: OrderFacts,
): string[] {
  switch (kind) {
    case 'branch':
      return [`Turn ${turn} existed before it was branched.`];
    case 'message':
      return latest === 'closed' ? [`A message was added to turn ${turn}, which is closed.`] : [];
    case 'plan':
      if (hasPlan) return [`Turn ${turn} already has a plan.`];
      return hasMessage === false && !isAgentPlan ? [`Turn ${turn} has a plan but no message.`] : [];
    case 'report':
      if (hasReport) return [`Turn ${turn} already has a report.`];
      return hasPlan ? [] : [`Turn ${turn} has a report but no plan.`];
    case 'approval':
      return hasPlan ? [] : [`There is a verdict on turn ${turn}, which has no plan.`];
    case 'memo':
      return hasPlan && !hasReport ? [] : [`Memos in turn ${turn} were decided without a pending plan.`];
    default:
      return [];
  }
}
