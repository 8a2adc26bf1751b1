/**
 * Tells teddy what opencode does: a plugin that `teddy capture install` puts into opencode's configuration, and that runs
 * teddy/agent-hook. In a repository that is captured it appends each finished message to the journal of its session, since
 * opencode keeps no log that could be followed. It prints nothing, throws nothing, and does nothing elsewhere.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** The spool of the repository that the directory is in; null where nothing is captured. */
function findSpool(directory) {
  for (let at = resolve(directory); ; at = dirname(at)) {
    const common = readGitDirectory(join(at, '.git'));
    if (common !== null) {
      const spool = join(common, 'teddy', 'spool');
      return isCaptured(spool) ? spool : null;
    }
    if (dirname(at) === at) return null;
  }
}

function readGitDirectory(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (found.isDirectory()) return existsSync(join(path, 'HEAD')) ? path : null;
  const own = resolve(
    dirname(path),
    readFileSync(path, 'utf8')
      .replace(/^gitdir: /, '')
      .trim(),
  );
  const link = join(own, 'commondir');
  return existsSync(link) ? resolve(own, readFileSync(link, 'utf8').trim()) : own;
}

function isCaptured(spool) {
  const found = statSync(spool, { throwIfNoEntry: false });
  if (!found?.isDirectory() || found.uid !== process.getuid?.() || existsSync(join(spool, 'paused'))) return false;
  return !['0', 'false', 'no', 'off'].includes(process.env.TEDDY_CAPTURE ?? '');
}

const ends = ['session.idle', 'session.error'];

/** A message that will not change any more. */
function isFinished({ info, parts }) {
  if (info.role === 'user') return parts.length > 0;
  return info.role === 'assistant' && (info.time?.completed !== undefined || info.error !== undefined);
}

/** What both versions of opencode share: the journals of the sessions that have this directory, and the bell. */
function openRecorder(directory) {
  const infos = new Map();

  const journalOf = (spool, session) => join(spool, 'opencode', `${session}.jsonl`);

  const readJournal = (path) => {
    const ids = new Set();
    if (!existsSync(path)) return ids;
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      try {
        ids.add(JSON.parse(line).info.id);
      } catch {
        // Another process was killed while it wrote this line.
      }
    }
    return ids;
  };

  /** Synchronous: `opencode run` ends without waiting for what a plugin does after an event. */
  const keep = (spool, session, messages) => {
    if (!/^[\w-]+$/.test(session)) return;
    const path = journalOf(spool, session);
    const known = readJournal(path);
    const lines = messages
      .filter((message) => message.info && !known.has(message.info.id) && isFinished(message))
      .map(({ info, parts }) => `${JSON.stringify({ info, parts })}\n`);
    if (lines.length === 0) return;
    if (!existsSync(dirname(path))) mkdirSync(dirname(path), { mode: 0o700 });
    // A line that was cut must not take the next one with it.
    const isCut = existsSync(path) && !readFileSync(path, 'utf8').endsWith('\n');
    appendFileSync(path, `${isCut ? '\n' : ''}${lines.join('')}`, { mode: 0o600 });
  };

  const ring = (spool, event, session) => {
    const payload = {
      hook_event_name: event,
      session_id: session,
      transcript_path: journalOf(spool, session),
      cwd: directory,
      ...(infos.has(session) ? { session: infos.get(session) } : {}),
    };
    const data = process.env.XDG_DATA_HOME || join(homedir(), '.local', 'share');
    spawnSync('sh', [join(data, 'teddy', 'agent-hook'), 'opencode'], {
      cwd: directory,
      input: JSON.stringify(payload),
      stdio: ['pipe', 'ignore', 'ignore'],
      timeout: 2000,
    });
  };

  /** What goes wrong here must not reach the person's work. */
  const quietly = async (act) => {
    try {
      const spool = findSpool(directory);
      if (spool !== null) await act(spool);
    } catch {
      // `teddy capture status` and the sweep find what is missing.
    }
  };

  return { infos, keep, ring, quietly };
}

/** opencode waits for what a plugin does before a message, so there is time to ask it something, but not much. */
const soon = (asked) =>
  Promise.race([asked.catch(() => null), new Promise((end) => setTimeout(end, 1000, null).unref())]);

/** The plugin of opencode 1.18.29 and later. */
async function server({ client, directory }) {
  const { infos, keep, ring, quietly } = openRecorder(directory);
  /** Session -> message -> what opencode has told of it. */
  const sessions = new Map();

  const messageOf = (session, id) => {
    if (!sessions.has(session)) sessions.set(session, new Map());
    const messages = sessions.get(session);
    if (!messages.has(id)) messages.set(id, { info: null, parts: new Map() });
    return messages.get(id);
  };

  const learn = {
    'session.created': ({ info }) => infos.set(info.id, info),
    'session.updated': ({ info }) => infos.set(info.id, info),
    'session.deleted': ({ info }) => sessions.delete(info.id),
    'message.updated': ({ info }) => (messageOf(info.sessionID, info.id).info = info),
    'message.removed': ({ sessionID, messageID }) => sessions.get(sessionID)?.delete(messageID),
    'message.part.updated': ({ part }) => messageOf(part.sessionID, part.messageID).parts.set(part.id, part),
    'message.part.removed': ({ sessionID, messageID, partID }) =>
      sessions.get(sessionID)?.get(messageID)?.parts.delete(partID),
  };

  const heardOf = (session) =>
    [...(sessions.get(session)?.values() ?? [])].map(({ info, parts }) => ({ info, parts: [...parts.values()] }));
  const isAnswering = (session) =>
    heardOf(session).some((message) => message.info?.role === 'assistant' && !isFinished(message));
  const isRunning = ({ type, state }) => type === 'tool' && !['completed', 'error'].includes(state?.status);

  return {
    event: async ({ event: { type, properties } }) => {
      // Each piece of an answer is an event, too.
      if (!(type in learn) && !ends.includes(type)) return;
      await quietly((spool) => {
        learn[type]?.(properties);
        const session = properties.sessionID ?? properties.info?.sessionID;
        // opencode may be killed before the turn ends.
        const isStep = type === 'message.updated' && properties.info.time?.completed !== undefined;
        if (isStep && !heardOf(session).some(({ parts }) => parts.some(isRunning)))
          keep(spool, session, heardOf(session));
        if (!ends.includes(type) || !properties.sessionID) return;
        keep(spool, session, heardOf(session));
        ring(spool, type, session);
      });
    },
    'chat.message': ({ sessionID }, { message, parts }) =>
      quietly(async (spool) => {
        const heard = messageOf(sessionID, message.id);
        heard.info ??= message;
        for (const part of parts) if (!heard.parts.has(part.id)) heard.parts.set(part.id, part);
        // Messages from before this process.
        const messages = await soon(client.session.messages({ path: { id: sessionID } }).then(({ data }) => data));
        const isOlder = ({ info }) => info.id !== message.id;
        if (Array.isArray(messages)) keep(spool, sessionID, messages.filter(isOlder));
        ring(spool, 'chat.message', sessionID);
        // A message that is typed while the model answers comes after that answer.
        if (!isAnswering(sessionID)) keep(spool, sessionID, heardOf(sessionID));
      }),
  };
}

/** The bell of version 1 for each way in which a turn of version 2 ends. */
const executionEnds = {
  'session.execution.succeeded': 'session.idle',
  'session.execution.interrupted': 'session.idle',
  'session.execution.failed': 'session.error',
};

/** The plugin of opencode 2, whose messages are kept in the form of version 1, so that the journal has only one. */
async function setup(ctx) {
  const directory = ctx.location?.directory ?? process.cwd();
  const { infos, keep, ring, quietly } = openRecorder(directory);

  const record = async (spool, event, session) => {
    const [info, messages] = await soon(
      Promise.all([ctx.session.get({ sessionID: session }), ctx.session.context({ sessionID: session })]),
    ).then((asked) => asked ?? []);
    infos.set(session, {
      id: session,
      directory,
      version: ctx.app?.version,
      title: info?.title,
      parentID: info?.parentID,
      time: info?.time,
    });
    if (Array.isArray(messages))
      keep(
        spool,
        session,
        messages.flatMap((message) => toFirstForm(message, session, directory) ?? []),
      );
    ring(spool, event, session);
  };

  await ctx.session.hook('prompt', ({ sessionID }) => quietly((spool) => record(spool, 'chat.message', sessionID)));
  const controller = new AbortController();
  const follow = async () => {
    for await (const { type, data, durable, location } of ctx.event.subscribe({ signal: controller.signal })) {
      const session = data?.sessionID ?? durable?.aggregateID;
      // A server has several directories, each with a plugin of its own.
      const isElsewhere = location?.directory !== undefined && location.directory !== directory;
      if (type in executionEnds && session !== undefined && !isElsewhere)
        await quietly((spool) => record(spool, executionEnds[type], session));
    }
  };
  const following = follow().catch(() => {
    // The server stops, or takes the plugin away.
  });
  return async () => {
    controller.abort();
    await following;
  };
}

/** A message of opencode 2 in the form of version 1; null for one that is not part of the conversation. */
function toFirstForm(message, sessionID, cwd) {
  const { id, type, time, text, summary } = message;
  const about = { id, sessionID, path: { cwd }, time };
  if (type === 'user') {
    const files = (message.files ?? []).map(({ name, mime, uri }) => ({
      type: 'file',
      filename: name,
      mime,
      url: uri,
    }));
    return { info: { ...about, role: 'user' }, parts: [{ id: `${id}-text`, type: 'text', text }, ...files] };
  }
  if (type === 'compaction' && message.status === 'completed') {
    const info = { ...about, role: 'assistant', summary: true, time: { ...time, completed: time?.created } };
    return { info, parts: [{ id: `${id}-summary`, type: 'text', text: summary }] };
  }
  if (type !== 'assistant') return null;
  const { content = [], model, tokens, cost, error } = message;
  const info = { ...about, role: 'assistant', modelID: model?.id, providerID: model?.providerID, tokens, cost };
  const isAborted = /abort|interrupt/i.test(error?.type ?? '');
  const failure = error && { name: isAborted ? 'MessageAbortedError' : error.type, data: { message: error.message } };
  return {
    info: failure ? { ...info, error: failure } : info,
    parts: content.map((part, at) => toFirstPart(part, `${id}-${at + 1}`)),
  };
}

function toFirstPart({ type, text, id, name, state }, partId) {
  if (type !== 'tool') return { id: partId, type, text };
  const said = (state?.content ?? []).flatMap((one) => (one.type === 'text' ? [one.text] : []));
  const error = state?.error?.message;
  return { id: partId, type, callID: id, tool: name, state: { ...state, output: said.join('\n'), error } };
}

export default { id: 'teddy', server, setup };
