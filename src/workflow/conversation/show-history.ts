/** The messages of a session as a provider would take them: folded, rendered, checked. */
import { checkHistory } from '../../conversation/check-history.ts';
import { toHistory, type TurnRecords } from '../../conversation/fold-history.ts';
import type { History, HistoryFormat, Repair } from '../../conversation/history.ts';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { parseTurnName, type Oid, type SessionId, type TurnName } from '../../names.ts';
import { findConversation, readTurns, type ConversationTarget } from '../line/read-conversation.ts';

export interface HistoryRequest {
  /** A session, as of `-s`, or anything that git takes for a commit. */
  target?: string | undefined;
  format: HistoryFormat;
  /** Turns before this one are left out. */
  from?: string | undefined;
}

export interface ShownHistory {
  session: SessionId;
  commit: Oid;
  format: HistoryFormat;
  /** The printed form, in UTF-8: one message a line in a JSON array, or the text itself. */
  bytes: Uint8Array;
  /** The same, decoded when it is asked for. */
  readonly text: string;
  /** The same as values; of `jsonl` and `markdown` the text. Parsed when it is asked for. */
  readonly messages: unknown[] | string;
  repairs: Repair[];
}

/** The version of the cached form; whoever changes the rendering counts this up. */
const rendering = 1;
/** With fewer it takes as long to look into the cache. */
const leastCached = 200;

const messagesAtATime = 500;

type Rendered = Pick<ShownHistory, 'bytes' | 'repairs'>;

/** Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION, UNKNOWN_COMMIT, UNKNOWN_TURN, NOT_ON_LINE, DAMAGED_SESSION, HISTORY_INVALID. */
export async function showHistory(project: Project, request: HistoryRequest): Promise<ShownHistory> {
  const { format } = request;
  const from = request.from === undefined ? undefined : parseTurnName(request.from);
  const place = await findTarget(project, request.target);
  const key = `history-${rendering}-${place.source}-${format}-${from ?? 'all'}`;
  const rendered = (await readCached(project, key)) ?? (await renderAndKeep(project, place, format, from, key));
  return {
    session: place.session,
    commit: place.commit,
    format,
    ...rendered,
    get text() {
      return decodeText(rendered.bytes);
    },
    get messages() {
      const text = decodeText(rendered.bytes);
      return isText(format) ? text : (JSON.parse(text) as unknown[]);
    },
  };
}

async function renderAndKeep(
  project: Project,
  place: ConversationTarget,
  format: HistoryFormat,
  from: TurnName | undefined,
  key: string,
): Promise<Rendered> {
  const { turns, repairs } = await readTurns(project.repository.store, place, from);
  if (turns.length === 0 && from !== undefined) throw toUnknownTurn(place, from);
  const isLong = turns.length >= leastCached;
  // The turns are not held any more once they are folded.
  const history = toHistory(takeAll(turns));
  const rendered = {
    bytes: encodeRendered(await render(history, format, place)),
    repairs: [...repairs, ...history.repairs],
  };
  if (isLong) await project.repository.cache.write(key, encodeCached(rendered));
  return rendered;
}

function* takeAll(turns: TurnRecords[]): Generator<TurnRecords> {
  turns.reverse();
  for (let turn = turns.pop(); turn !== undefined; turn = turns.pop()) yield turn;
}

/** Each renderer is loaded only where it is needed. Never a history that breaks a rule of its format. */
async function render(history: History, format: HistoryFormat, place: ConversationTarget): Promise<unknown[] | string> {
  const rendered = await renderAs(history, format);
  const [violation, ...more] = checkHistory(format, rendered);
  if (violation === undefined) return rendered;
  throw new TeddyError(
    'HISTORY_INVALID',
    `The history of ${place.session} breaks a rule of ${format}: ${violation}` +
      (more.length === 0 ? '' : ` (and ${more.length} more)`),
    'This is a defect of teddy. `--format jsonl` and `--format markdown` show what was said.',
  );
}

async function renderAs(history: History, format: HistoryFormat): Promise<unknown[] | string> {
  switch (format) {
    case 'openai':
      return (await import('../../conversation/render-openai.ts')).renderOpenai(history);
    case 'anthropic':
      return (await import('../../conversation/render-anthropic.ts')).renderAnthropic(history);
    case 'jsonl':
      return (await import('../../conversation/render-jsonl.ts')).renderJsonl(history);
    case 'markdown':
      return (await import('../../conversation/render-history-markdown.ts')).renderMarkdown(history);
  }
}

/** Messages become a JSON array with one on each line. */
function encodeRendered(rendered: unknown[] | string): Uint8Array {
  if (typeof rendered === 'string') return encodeText(rendered);
  if (rendered.length === 0) return encodeText('[]\n');
  const pieces = [encodeText('[\n')];
  // Piece by piece: as one text it would be held twice more.
  for (let at = 0; at < rendered.length; at += messagesAtATime) {
    const lines = rendered.slice(at, at + messagesAtATime).map((one) => JSON.stringify(one));
    pieces.push(encodeText(at === 0 ? lines.join(',\n') : `,\n${lines.join(',\n')}`));
  }
  return Buffer.concat([...pieces, encodeText('\n]\n')]);
}

function isText(format: HistoryFormat): boolean {
  return format === 'jsonl' || format === 'markdown';
}

function encodeText(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function decodeText(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

function encodeCached({ bytes, repairs }: Rendered): Uint8Array[] {
  return [encodeText(`${JSON.stringify(repairs)}\n`), bytes];
}

/** A history that cannot be read from the cache is rendered anew. */
async function readCached(project: Project, key: string): Promise<Rendered | null> {
  const kept = await project.repository.cache.read(key);
  const end = kept?.indexOf(0x0a) ?? -1;
  if (kept === null || end === -1) return null;
  const repairs = parseRepairs(decodeText(kept.subarray(0, end)));
  return repairs && { repairs, bytes: kept.subarray(end + 1) };
}

function parseRepairs(text: string): Repair[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** A session is meant first; what is none may be a commit. Without a target the line may be one that a shallow clone cut off. */
async function findTarget(project: Project, target: string | undefined): Promise<ConversationTarget> {
  try {
    return await findConversation(project, { selector: target });
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code !== 'UNKNOWN_SESSION') throw error;
    return findConversation(project, { commit: target ?? 'HEAD' }).catch((reason: unknown) => {
      throw saysLess(reason, target) ? error : reason;
    });
  }
}

/** Whether the reason says less than "there is no such session". */
function saysLess(reason: unknown, target: string | undefined): boolean {
  if (!(reason instanceof TeddyError)) return false;
  if (target === undefined) return reason.code === 'UNKNOWN_COMMIT' || reason.code === 'NOT_ON_LINE';
  const isCommitLike = /^(?:[0-9a-f]{4,64}|HEAD)$|[~^@:]/.test(target);
  return reason.code === 'UNKNOWN_COMMIT' && !isCommitLike;
}

function toUnknownTurn({ session }: ConversationTarget, from: TurnName): TeddyError {
  return new TeddyError(
    'UNKNOWN_TURN',
    `${session} has no turn ${from}, nor one after it.`,
    '`teddy session log` shows the turns.',
  );
}
