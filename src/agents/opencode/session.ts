/** Writes a session that `opencode import` takes in: the document that `opencode export` prints. */
import type { History, HistoryCall } from '../../conversation/history/history.ts';
import { toOutputText, toProviderName } from '../../conversation/history/provider-parts.ts';
import { toTimestamp } from '../../conversation/records/import-values.ts';
import { toWellFormedJson, toWellFormedValue } from '../../conversation/records/well-formed.ts';
import type { AgentSession } from '../agent.ts';
import { toSessionMessages, type SessionItem } from '../session-items.ts';

/** The version whose format teddy writes. */
const opencodeVersion = '1.18.33';
/** The model of everything said: opencode goes on with the user's own one. */
const model = { providerID: 'unknown', modelID: 'unknown' };
const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };

export function renderOpencodeSession(history: History, session: AgentSession): string[] {
  const { id, cwd, startedAt } = session;
  // opencode sorts by IDs, which are unique among all sessions; its own begin with the time, so they come later.
  const toId = (kind: string, number: number) =>
    `${kind}_${number.toString(16).padStart(12, '0')}${id.replaceAll(/[^0-9a-zA-Z]/g, '').slice(-14)}`;
  let parts = 0;
  let parent = toId('msg', 1);
  const messages = toSessionMessages(history).map((items, at) => {
    const messageID = toId('msg', at + 1);
    const own = { sessionID: id, messageID };
    const time = Date.parse(toTimestamp(items[0]?.timestamp) ?? startedAt);
    const isSaid = items[0]?.kind === 'said';
    if (isSaid) parent = messageID;
    const info = isSaid ? toUserInfo(time) : toAnswerInfo(items, time, { parent, cwd });
    return {
      info: { id: messageID, sessionID: id, ...info },
      parts: items.map((item) => ({ id: toId('prt', (parts += 1)), ...own, ...toPart(item, time) })),
    };
  });
  const created = Date.parse(startedAt);
  const about = { slug: id, version: opencodeVersion, projectID: 'unknown', directory: cwd, title: toTitle(history) };
  return [toWellFormedJson({ info: { id, ...about, time: { created, updated: created } }, messages })];
}

function toTitle({ turns }: History): string {
  return turns[0]?.said[0]?.text.trim().split('\n')[0]?.slice(0, 80) || 'Continued session';
}

function toUserInfo(created: number): object {
  return { role: 'user', time: { created }, agent: 'build', model };
}

function toAnswerInfo(items: readonly SessionItem[], time: number, { parent, cwd }: { parent: string; cwd: string }) {
  const about = {
    parentID: parent,
    ...model,
    mode: 'build',
    agent: 'build',
    path: { cwd, root: cwd },
    cost: 0,
    tokens,
  };
  const finish = items.some(({ kind }) => kind === 'call') ? 'tool-calls' : 'stop';
  return { role: 'assistant', time: { created: time, completed: time }, ...about, finish };
}

function toPart(item: SessionItem, time: number): object {
  if (item.kind !== 'call') return { type: 'text', text: 'text' in item ? item.text : '' };
  return { type: 'tool', callID: item.callId, tool: toProviderName(item.call.name), state: toState(item.call, time) };
}

function toState({ input, result }: HistoryCall, start: number): object {
  const shared = { input: toWellFormedValue(input), time: { start, end: start } };
  const text = toOutputText(result);
  return result.isError
    ? { status: 'error', ...shared, error: text }
    : { status: 'completed', ...shared, output: text, title: '', metadata: {} };
}
