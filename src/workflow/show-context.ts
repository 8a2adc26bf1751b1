/** What the model would be shown in the next turn, and the line behind every file. Changes nothing. */
import { TeddyError } from '../errors.ts';
import { parseRepoPath } from '../plan/paths.ts';
import type { Project, Store } from '../ports.ts';
import type { ShownFile } from '../session/context-files.ts';
import { parseTurnContext, type TurnLine } from '../session/context-lines.ts';
import type { LeftOut, Place } from '../session/context.ts';
import { joinPath, sessionDir, toTurnName, turnNumber, type SessionId, type TurnName } from '../session/names.ts';
import { estimateTokens } from '../session/tokens.ts';
import { findLine, lineName, type Line } from './find-line.ts';
import { readGlobal } from './global-branch.ts';
import { readContext, type ReadContext } from './read-context.ts';
import { readLine, readTurnFile, toText, type LineState } from './read-line.ts';
import { readTurnList } from './read-turn-list.ts';

export interface ShownContext {
  session: SessionId;
  line: string;
  /** The next turn, or the open one. */
  turn: TurnName;
  files: ContextRow[];
  /** An estimate, of the shown files alone. */
  tokens: number;
  leftOut: { path: string; reason: string; from: string }[];
  /** How many files of directories and patterns `.teddyignore` leaves out. */
  ignored: number;
  takenAway: { path: string; from: string; by: string }[];
  notes: string[];
  /** Tracked files with edits: the next plan commits them first and shows them as they are then. */
  edited: number;
  /** Why a path is shown or not, when that was asked. */
  why: Explanation | null;
}

export interface ContextRow {
  path: string;
  kind: 'shown' | 'not-shown' | 'missing';
  /** An estimate; 0 for what is not shown. */
  tokens: number;
  bytes: number;
  /** Why it is only listed. */
  reason: 'binary' | 'large' | null;
  /** `stored`: git does not track it; it is shown as it is on disk. */
  source: 'blob' | 'stored' | null;
  /** The line that put it there: `session.context:3`, `turn: CREATE in turn 02`. */
  from: string;
}

export interface Explanation {
  path: string;
  isShown: boolean;
  /** Why it is not shown although a line names it. */
  reasons: string[];
  /** The lines that speak of it, in the order in which they count. */
  lines: { from: string; text: string; removes: boolean }[];
}

export async function showContext(
  project: Project,
  request: { selector?: string | undefined; why?: string | undefined },
): Promise<ShownContext> {
  const { store } = project.repository;
  const line = await findLine(project, request.selector);
  const tip = line.tip ?? line.remoteTip;
  if (tip === null) throw new TeddyError('UNKNOWN_SESSION', `${lineName(line)} has no commit.`);
  const state = await readLine(store, tip);
  const turn = nextTurn(state);
  const [global, editedList, edited] = await Promise.all([readGlobal(project), readEditedList(line), countEdits(line)]);
  const context = await readContext(project, state, turn, global, line.workspace, editedList);
  const origins = await traceOrigins(store, state, turn, context.turnList);
  const from = (place: Place) => describePlace(place, origins);
  const files = toRows(context, from);
  const { leftOut, takenAway, notes } = context.resolved;
  const told = leftOut.filter(({ isQuiet }) => !isQuiet);
  return {
    session: state.session,
    line: lineName(line),
    turn,
    files,
    tokens: files.reduce((sum, { tokens }) => sum + tokens, 0),
    leftOut: told.map(({ path, reason, place }) => ({ path, reason, from: from(place) })),
    ignored: new Set(leftOut.filter(({ isQuiet }) => isQuiet).map(({ path }) => path)).size,
    takenAway: takenAway.map(({ path, place, by }) => ({ path, from: from(place), by: from(by) })),
    notes,
    edited,
    why: request.why === undefined ? null : explain(request.why, line, context, files, from),
  };
}

function nextTurn({ latest }: LineState): TurnName {
  if (latest?.status === 'open') return latest.turn;
  return toTurnName((latest ? turnNumber(latest.turn) : 0) + 1);
}

/** An edit of `session.context` is what somebody who asks has just made; the next plan commits it first. */
async function readEditedList({ workspace, session }: Line): Promise<string | undefined> {
  const bytes = await workspace?.readDisk(joinPath(sessionDir(session), 'session.context'));
  return bytes ? toText(bytes) : undefined;
}

async function countEdits({ workspace }: Line): Promise<number> {
  const status = await workspace?.status({ untracked: false });
  return status?.edits.filter(({ path, submodule }) => !submodule && !path.startsWith('.teddy/')).length ?? 0;
}

function toRows({ files, resolved }: ReadContext, from: (place: Place) => string): ContextRow[] {
  const places = new Map(resolved.files.map(({ path, place }) => [path, place]));
  return files.flatMap((file) => {
    const place = places.get(file.path);
    return file.kind === 'refused' || place === undefined ? [] : [{ ...toRow(file), from: from(place) }];
  });
}

function toRow(file: Exclude<ShownFile, { kind: 'refused' }>): Omit<ContextRow, 'from'> {
  const { path, kind } = file;
  const nothing = { path, kind, tokens: 0, bytes: 0, reason: null, source: null };
  if (file.kind === 'missing') return nothing;
  if (file.kind === 'not-shown') return { ...nothing, bytes: file.bytes, reason: file.reason };
  const bytes = new TextEncoder().encode(file.text).length;
  return { ...nothing, tokens: estimateTokens(file.text), bytes, source: file.source.kind };
}

function explain(
  wanted: string,
  { workspace }: Line,
  { resolved }: ReadContext,
  files: readonly ContextRow[],
  from: (place: Place) => string,
): Explanation {
  const parsed = parseRepoPath(wanted, workspace?.root);
  const path = 'path' in parsed ? parsed.path : wanted;
  const isUncontained = 'problem' in parsed && !wanted.includes('://');
  const isShown = files.some((file) => file.path === path && file.kind === 'shown');
  return {
    path,
    isShown,
    reasons: isUncontained ? [parsed.problem] : isShown ? [] : findReasons(path, resolved, files),
    lines: resolved.rules
      .filter((rule) => rule.covers(path))
      .map(({ place, removes }) => ({ from: from(place), text: place.text, removes })),
  };
}

function findReasons(
  path: string,
  { leftOut }: { leftOut: readonly LeftOut[] },
  files: readonly ContextRow[],
): string[] {
  const row = files.find((file) => file.path === path);
  if (row?.kind === 'missing') return ['the project has no such file'];
  if (row) return [`it is ${row.reason ?? 'not text'}, and no line names exactly this file`];
  return [...new Set(leftOut.filter((one) => one.path === path).map(({ reason }) => reason))];
}

/** Text of a line of a turn's own list -> the action or vault that first put it there. */
type Origins = ReadonlyMap<string, string>;

function describePlace({ level, line, text }: Place, origins: Origins): string {
  return level === 'turn' ? (origins.get(text) ?? 'turn.context') : `${level}.context:${line}`;
}

/**
 * A line that was kept from turn to turn is followed back to the turn in whose list it does not stand yet: what came
 * of that turn put it there.
 */
async function traceOrigins(
  store: Store,
  state: LineState,
  turn: TurnName,
  turnList: readonly TurnLine[],
): Promise<Origins> {
  const earlier = state.turns.filter((name) => name !== turn);
  const origins = new Map<string, string>();
  let lines = turnList;
  const wanted = new Set(turnList.map(({ text }) => text));
  for (let at = earlier.length - 1; at >= 0 && wanted.size > 0; at -= 1) {
    const name = earlier[at];
    if (name === undefined) break;
    for (const { text, origin } of lines) {
      if (origin === 'list' || !wanted.delete(text)) continue;
      origins.set(text, origin === 'vault' ? `turn: Context Vault of turn ${name}` : `turn: ${origin} in turn ${name}`);
    }
    const kept = await readTurnFile(store, state.entryOid, state.session, name, 'turn.context');
    const known = new Set(parseTurnContext(kept ?? ''));
    // What a directory or pattern of a vault brought in stands literally in the list of the turn after.
    const isVault = lines.some(({ origin }) => origin === 'vault');
    for (const text of wanted) {
      if (known.has(unquote(text))) continue;
      wanted.delete(text);
      if (isVault) origins.set(text, `turn: Context Vault of turn ${name}`);
    }
    lines = wanted.size > 0 ? await readTurnList(store, state, earlier[at - 1]) : [];
  }
  return origins;
}

function unquote(text: string): string {
  return parseTurnContext(text)[0] ?? text;
}
