/**
 * Lists the participants in a session: the models that answered, and the people who made decisions or worked on the
 * line themselves.
 */
import type { Report } from '../../plan/report/report.ts';
import { isRejected } from '../../page/turn-state.ts';
import type { Oid, TurnName } from '../../names.ts';
import type { Entry, EntryKind } from '../../session/entries/entry.ts';
import { toAuthor, type CommitAuthor } from '../../session/entries/logged-entry.ts';
import type { Verdict } from '../../view/view.ts';

export interface Answerer {
  /** Null when no record names the model. `manual` means that the user entered the answers. */
  model: string | null;
  provider: string | null;
  /** Another agent that asked the model; null for teddy. */
  agent: string | null;
  answers: number;
}

/** The decision made when a plan was executed. */
export interface Decision {
  decision: 'approved' | 'rejected';
  /** `flag` means that teddy asked nobody because of `-y`. */
  by: 'user' | 'flag';
  /** The person who ran the plan. */
  author: CommitAuthor;
  /** The entry with the report. */
  commit: Oid;
  /** The numbers of the actions; empty for the plan as a whole. */
  actions: number[];
}

export interface Approver extends CommitAuthor {
  /** The turns with plans, or with plan actions, that they approved. */
  approved: TurnName[];
  /** The turns with plans that they ran with `-y`. */
  byFlag: TurnName[];
  rejected: TurnName[];
}

/** The ways to decide about a turn. */
export type Decided = Exclude<keyof Approver, keyof CommitAuthor>;

/** Somebody with work of their own on the line. */
export interface Worker extends CommitAuthor {
  /** The number of entries with their edits. */
  snapshots: number;
  commits: number;
}

const answering: readonly EntryKind[] = ['plan', 'reply', 'exchange', 'write'];

/** Lists the models in the order of their first answers. `agent` is the agent that owns the session. */
export function listAnswerers(entries: readonly Entry[], agent: string | null): Answerer[] {
  const found = new Map<string, Answerer>();
  for (const { kind, model = null, provider = null, agent: own } of entries) {
    const by = own === undefined && kind !== 'write' ? agent : null;
    const isNamed = model !== null || provider !== null || by !== null;
    if (!answering.includes(kind) || !isNamed) continue;
    const key = JSON.stringify([model, provider, by]);
    const known = found.get(key);
    if (known === undefined) found.set(key, { model, provider, agent: by, answers: 1 });
    else known.answers += 1;
  }
  const all = [...found.values()];
  // Some lines of another agent's log name no model.
  return all.filter((one) => one.model !== null || !all.some((other) => other !== one && other.agent === one.agent));
}

/**
 * Lists the decisions in a report; `entry` is its commit. When somebody had rejected the plan, the report
 * only closes its turn.
 */
export function listDecisions(
  report: Report | null,
  entry: { ident: string; commit: Oid } | undefined,
  verdicts: readonly Pick<Verdict, 'verdict'>[],
): Decision[] {
  if (report === null || entry === undefined) return [];
  const { commit } = entry;
  const person = toAuthor(entry.ident);
  const logs = report.action_logs;
  const isDeclined = logs.length > 0 && logs.every(({ details }) => details?.reason === 'declined');
  const isKnown = verdicts.some(({ verdict }) => verdict === 'rejected');
  if (isDeclined || isRejected(report))
    return isKnown ? [] : [{ decision: 'rejected', by: 'user', author: person, commit, actions: [] }];
  return (['user', 'flag'] as const).flatMap((by) => {
    const actions = logs.flatMap(({ index, approved_by }) => (approved_by === by ? [index] : []));
    return actions.length === 0 ? [] : [{ decision: 'approved' as const, by, author: person, commit, actions }];
  });
}

interface DecidedTurn {
  turn: TurnName;
  verdicts: readonly Pick<Verdict, 'verdict' | 'author'>[];
  decisions: readonly Decision[];
}

/** Lists people in the order of their first decision. A person may have approved and rejected the same plan. */
export function listApprovers(turns: readonly DecidedTurn[]): Approver[] {
  const found = new Map<string, Approver>();
  const add = ({ name, email }: CommitAuthor, turn: TurnName, said: Decided) => {
    const key = toKey({ name, email });
    const one = found.get(key) ?? { name, email, approved: [], byFlag: [], rejected: [] };
    found.set(key, one);
    if (!one[said].includes(turn)) one[said].push(turn);
  };
  for (const { turn, verdicts, decisions } of turns) {
    for (const { verdict, author } of verdicts) if (verdict !== 'none') add(author, turn, verdict);
    for (const { decision, by, author } of decisions) add(author, turn, by === 'flag' ? 'byFlag' : decision);
  }
  return [...found.values()];
}

/** Lists people in the order of their first work. A snapshot in another agent's turn contains that agent's work. */
export function listWorkers(steps: readonly { entry: Entry | null; ident: string }[]): Worker[] {
  const found = new Map<string, Worker>();
  for (const { entry, ident } of steps) {
    const isOfUser = entry?.kind === 'snapshot' && (entry.turn === null || entry.head === undefined);
    if (entry !== null && !isOfUser) continue;
    const person = toAuthor(ident);
    const one = found.get(toKey(person)) ?? { ...person, snapshots: 0, commits: 0 };
    found.set(toKey(person), one);
    if (entry === null) one.commits += 1;
    else one.snapshots += 1;
  }
  return [...found.values()];
}

function toKey({ name, email }: CommitAuthor): string {
  return `${name} <${email}>`;
}
