/** Returns a session's messages in a provider's format. Caches slow renderings. */
import type { HistoryFormat } from '../../conversation/history/history.ts';
import { readTurns } from '../../view/view.ts';
import {
  decodeText,
  encodeText,
  isText,
  noTurnFromError,
  renderHistory,
  type RenderedHistory,
} from '../../conversation/history/render-history.ts';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { parseTurnName, type Oid, type SessionId, type TurnName } from '../../names.ts';
import { findConversation, type ConversationTarget } from '../line/read-conversation.ts';
import { parseJson } from '../../session/text/parse-object.ts';

export interface HistoryRequest {
  /** A session, as `-s` accepts it, or anything that git resolves to a commit. */
  target?: string | undefined;
  format: HistoryFormat;
  /** Omits turns before this one. */
  from?: string | undefined;
}

export interface ShownHistory extends RenderedHistory {
  session: SessionId;
  commit: Oid;
  format: HistoryFormat;
  /** The bytes as text, decoded on access. */
  readonly text: string;
  /** The messages as values, or the text for `jsonl` and `markdown`. Parsed on access. */
  readonly messages: unknown[] | string;
}

/** The version of the cached form. Increase it with every change to the rendering. */
const rendering = 1;
/** With fewer turns, rendering is as fast as reading the cache. */
const leastCached = 200;

/** Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION, UNKNOWN_COMMIT, UNKNOWN_TURN, NOT_ON_LINE, DAMAGED_SESSION. */
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
): Promise<RenderedHistory> {
  const read = await readTurns(project.repository.store, place, from);
  const isLong = read.turns.length >= leastCached;
  if (read.turns.length === 0 && from !== undefined) throw noTurnFromError(place.session, from);
  const rendered = await renderHistory(read, format);
  const repairs = encodeText(`${JSON.stringify(rendered.repairs)}\n`);
  if (isLong) await project.repository.cache.write(key, [repairs, rendered.bytes]);
  return rendered;
}

/** Returns null when the cache has no readable rendering; the caller then renders the history again. */
async function readCached(project: Project, key: string): Promise<RenderedHistory | null> {
  const kept = await project.repository.cache.read(key);
  const end = kept?.indexOf(0x0a) ?? -1;
  if (kept === null || end === -1) return null;
  const repairs = parseJson(decodeText(kept.subarray(0, end)));
  return Array.isArray(repairs) ? { repairs, bytes: kept.subarray(end + 1) } : null;
}

/**
 * Treats the target as a session first, and otherwise as a commit. Without a target, HEAD may be on a line that a
 * shallow clone cut off.
 */
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

/** Returns true if the reason is less informative than "there is no such session". */
function saysLess(reason: unknown, target: string | undefined): boolean {
  if (!(reason instanceof TeddyError)) return false;
  if (target === undefined) return reason.code === 'UNKNOWN_COMMIT' || reason.code === 'NOT_ON_LINE';
  const isCommitLike = /^(?:[0-9a-f]{4,64}|HEAD)$|[~^@:]/.test(target);
  return reason.code === 'UNKNOWN_COMMIT' && !isCommitLike;
}
