/** Compares two turns of one or two lines: the request, the plan, the context and the resulting code. */
import type { Report } from '../../plan/report/report.ts';
import { parseReport } from '../../plan/report/report-yaml.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { repoPathFromGit, type Oid, type SessionId, type TurnName } from '../../names.ts';
import { readSession, readTurn, readTurnFile, type TurnStatus } from '../../view/view.ts';
import { diffFiles, listCodeChanges, toFileDiff, type FileDiff } from './diff-files.ts';
import { codeOf, findExactTurn, findTurnOf, requireCommits, turnBefore, type FoundTurn } from './find-turn.ts';
import { TeddyError } from '../../errors.ts';

export const comparedParts = ['plan', 'context', 'code'] as const;
export type ComparedPart = (typeof comparedParts)[number];

export interface ComparedTurn {
  session: SessionId;
  line: string;
  /** Null for the state before the first turn. */
  turn: TurnName | null;
  /** The commit with the turn's code. */
  commit: Oid;
  status: TurnStatus | null;
  /** The outcome according to its report. */
  outcome: Pick<Report['run_summary'], 'status' | 'error'> | null;
  changedFiles: number;
}

/** The comparison; a part is null when the caller did not request it. */
export interface TurnComparison {
  a: ComparedTurn;
  b: ComparedTurn;
  /** Null when both messages are the same, or when the caller did not request them. */
  message: { a: string; b: string } | null;
  /** The plans, or the answers given instead of a plan. */
  plan: FileDiff | null;
  context: ContextComparison | null;
  /** The code outside `.teddy`. */
  code: FileDiff[] | null;
}

/** Names both turns as for `findTurnOf`. When `b` is undefined, compares `a` with the preceding turn on its line. */
export interface DiffOptions {
  a: string;
  b?: string | undefined;
  selector?: string | undefined;
  /** Undefined to compare all parts and the messages. */
  only?: ComparedPart | undefined;
}

interface Side extends ComparedTurn {
  message: string;
  answer: string;
  turnContext: string;
  log: string | null;
}

/** Throws UNKNOWN_TURN and the errors of `findRecorded`. */
export async function diffTurns(project: Project, { a, b, selector, only }: DiffOptions): Promise<TurnComparison> {
  const { store } = project.repository;
  const [one, other] = await readSides(project, { a, b, selector });
  const wants = (part: ComparedPart) => only === undefined || only === part;
  return {
    a: toCompared(one),
    b: toCompared(other),
    message: only !== undefined || one.message === other.message ? null : { a: one.message, b: other.message },
    plan: wants('plan') ? diffAnswers(one, other) : null,
    context: wants('context') ? await compareContexts(one, other) : null,
    code: wants('code') ? await diffFiles(store, await listCodeChanges(store, one.commit, other.commit)) : null,
  };
}

async function readSides(project: Project, { a, b, selector }: DiffOptions): Promise<[Side, Side]> {
  const { store } = project.repository;
  const first = await findTurnOf(project, { text: a, selector });
  if (b === undefined) return [await readBefore(store, first), await readSide(store, first)];
  const second = await findTurnOf(project, { text: b, selector });
  // On a conversation branch, the turn `02` means its 02-branch-01; when the user names both, `02` is the main line's
  // turn.
  const isOne = a !== b && first.turn === second.turn && first.line.tip === second.line.tip;
  const find = (text: string, found: FoundTurn) => (isOne ? findExactTurn(project, { text, selector }) : found);
  const found = await Promise.all([find(a, first), find(b, second)]);
  return Promise.all([readSide(store, found[0]), readSide(store, found[1])]);
}

async function readSide(store: Store, found: FoundTurn): Promise<Side> {
  const { session, state, line, turn } = found;
  const readFile = (name: string) => readTurnFile(store, { commit: state.entryOid, session, turn }, name);
  const read = await readSession(store, line, { only: turn });
  if (line.ref !== null) requireCommits(read, turn);
  const [content, turnContext, log] = await Promise.all([
    readTurn(store, read, turn),
    readFile('turn.context'),
    readFile('_context.log'),
  ]);
  const report = content.report === null ? null : parseReport(content.report);
  return {
    session,
    line: line.name,
    turn,
    // For a requested commit, uses that commit itself.
    commit: line.ref === null ? line.tip : codeOf(found, content.steps),
    status: content.status,
    outcome: report && { status: report.run_summary.status, error: report.run_summary.error },
    changedFiles: report?.changes.length ?? 0,
    message: content.messages.join('\n\n'),
    answer: content.plan ?? content.reply ?? '',
    turnContext: turnContext ?? '',
    log,
  };
}

async function readBefore(store: Store, found: FoundTurn): Promise<Side> {
  const turn = turnBefore(found);
  if (turn !== null) return readSide(store, { ...found, turn });
  const { turns } = await readSession(store, found.line, { only: found.turn });
  const opening = turns.find((one) => one.turn === found.turn)?.steps[0];
  return {
    session: found.session,
    line: found.line.name,
    turn: null,
    commit: opening?.parent ?? found.state.entryOid,
    status: null,
    outcome: null,
    changedFiles: 0,
    message: '',
    answer: '',
    turnContext: '',
    log: null,
  };
}

function toCompared({
  message: _message,
  answer: _answer,
  turnContext: _context,
  log: _log,
  ...side
}: Side): ComparedTurn {
  return side;
}

function diffAnswers(one: Side, other: Side): FileDiff | null {
  const encoder = new TextEncoder();
  const [before, after] = [one, other].map(({ answer }) => (answer === '' ? null : encoder.encode(answer)));
  const path = repoPathFromGit('plan.md');
  const change = { path, before: before ? one.commit : null, after: after ? other.commit : null };
  const kind = before === null ? 'added' : after === null ? 'deleted' : 'modified';
  return toFileDiff({ ...change, change: kind }, before ?? null, after ?? null);
}

/** The files that the model saw in two turns, and the differences between them. */
interface ContextComparison {
  /** `log` compares the content of `_context.log`; `list` compares `turn.context`, when nothing else is available. */
  source: 'log' | 'list';
  /** Paths or URLs; for lists, their lines. */
  added: string[];
  removed: string[];
  /** Files shown in both turns with different content, or omitted for different reasons. */
  changed: string[];
}

interface ContextSide {
  turnContext: string;
  log: string | null;
}

async function compareContexts(one: ContextSide, other: ContextSide): Promise<ContextComparison> {
  const shown = await Promise.all([readShown(one.log), readShown(other.log)]);
  const [before, after] = shown;
  if (before !== null && after !== null) return { source: 'log', ...compare(before, after) };
  return { source: 'list', ...compare(readList(one.turnContext), readList(other.turnContext)) };
}

function compare(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>) {
  const names = [...after.keys()];
  return {
    added: names.filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
    changed: names.filter((name) => before.has(name) && before.get(name) !== after.get(name)),
  };
}

/** Returns null when there is no log, or when the log is incomplete. */
async function readShown(log: string | null): Promise<Map<string, string> | null> {
  if (log === null) return null;
  const { parseContextLog } = await import('../../session/context/context-log-parse.ts');
  try {
    const { sections } = parseContextLog(log);
    const files = sections.flatMap(({ path, body }): [string, string][] => (path === null ? [] : [[path, body]]));
    return new Map(files);
  } catch (error) {
    if (error instanceof TeddyError) return null;
    throw error;
  }
}

function readList(text: string): Map<string, string> {
  const lines = text.split('\n').map((line) => line.trim());
  return new Map(lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => [line, line]));
}
