import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import { TeddyError } from '../../src/errors.ts';
import { openEvents } from '../support/event-client.ts';
import { openTestServer, type Answer, type TestServer, type TestServerOptions } from '../support/http-server.ts';
import { line, session, start, storyOfLine } from '../support/turns.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

const base = `/api/sessions/${session}`;
const entries = `${base}/entries`;
const maxBytes = 10 * 1024 * 1024;

let server: TestServer;

beforeEach(async () => {
  server = await openTestServer();
  await start(server.project);
});

afterEach(() => server.stop());

async function reopen(options: TestServerOptions): Promise<void> {
  await server.stop();
  server = await openTestServer({ project: server.project, ...options });
}

const user = (id: string, content = id) => ({ type: 'user', id, message: { role: 'user', content } });
const assistant = (id: string, content = id) => ({ type: 'assistant', id, message: { role: 'assistant', content } });
const call = (id: string, callId = id) => ({ type: 'tool_use', id, tool_call_id: callId, tool_name: 'read_file' });
const result = (id: string, callId: string) => ({ type: 'tool_result', id, tool_call_id: callId, output: 'text' });
const post = (body: unknown, path = entries) => server.call('POST', path, body);

async function records(turn = '01') {
  const path = `.teddy/sessions/${session}/${turn}/transcript.jsonl`;
  const text = await server.project.readAt(await server.project.tipOf(line), path);
  return decodeTranscript(text ?? '').records;
}

test('a session name in any script is URL-encoded in the path', async () => {
  const made = await start(server.project, 'авторизация');
  const path = `/api/sessions/${encodeURIComponent(made.session)}/entries`;
  const { status, body } = await post(user('u1', 'Hello'), path);
  expect({ status, body }).toMatchObject({ status: 200, body: { session: '20260124-авторизация', isNew: true } });
});

/** The library that checks a body uses this form. */
const zodWords = /Invalid|received|Unrecognized|Too (?:small|big)|expected/;

describe('a record', () => {
  test('is one commit before it is answered, and the response names the commit', async () => {
    const { status, body } = await post({ ...user('u1', 'Hello'), timestamp: '2026-01-24T10:00:00Z' });
    expect(status).toBe(200);
    const commit = await server.project.tipOf(line);
    expect(body).toEqual({ session, line, turn: '01', commit, entry: 'message', isNew: true });
    expect(await records()).toEqual([
      {
        type: 'user',
        id: 'u1',
        timestamp: '2026-01-24T10:00:00Z',
        message: { role: 'user', content: 'Hello' },
        source: 'text',
      },
    ]);
  });

  test('without a time gets the call’s, and with a source keeps it', async () => {
    await post({ ...user('u1'), source: 'voice_transcription' });
    await post({ ...assistant('a1'), source: 'voice_response' });
    const found = await records();
    expect(found).toMatchObject([{ source: 'voice_transcription' }, { source: 'voice_response' }]);
    for (const { timestamp } of found as { timestamp: string }[]) {
      expect(timestamp).toMatch(/^2026-01-24T10:\d\d:\d\d\.000Z$/);
    }
  });

  test('by voice: an interruption, a front end’s note and a partial answer are kept with all their fields', async () => {
    await post({ ...user('u1'), source: 'voice_transcription' });
    await post({ type: 'assistant_partial', id: 'p1', message: { role: 'assistant', content: 'I would' } });
    await post({ type: 'voice_interrupted', id: 'i1', at_ms: 1200, heard: { words: ['I'] } });
    await post({ type: 'orchestrator_meta', id: 'm1', mode: 'text' });
    await post({ type: 'note', id: 'n1', text: 'The line was bad.' });
    expect(await records()).toMatchObject([
      { type: 'user' },
      { type: 'assistant_partial', message: { content: 'I would' }, source: 'text' },
      { type: 'voice_interrupted', id: 'i1', details: { at_ms: 1200, heard: { words: ['I'] } } },
      { type: 'orchestrator_meta', id: 'm1', details: { mode: 'text' } },
      { type: 'note', text: 'The line was bad.' },
    ]);
    expect(await storyOfLine(server.project)).toEqual([
      expect.any(String),
      'start',
      'message 01',
      ...Array<string>(4).fill('reply 01'),
    ]);
  });

  test('calls and all of their results are one entry, after the text before them', async () => {
    await post(user('u1'));
    const unit = [assistant('a1', 'I look.'), call('c1'), call('c2'), result('r2', 'c2'), result('r1', 'c1')];
    expect(await post(unit)).toMatchObject({ status: 200, body: { turn: '01', entry: 'exchange', isNew: true } });
    expect((await records()).slice(1)).toMatchObject([
      { id: 'a1' },
      { id: 'c1', tool_input: {} },
      { id: 'c2' },
      { id: 'r2', output: 'text', is_error: false },
      { id: 'r1' },
    ]);
    expect(await post(unit)).toMatchObject({ status: 200, body: { isNew: false } });
  });

  test('sent again is kept once, with its first commit, even if the time differs', async () => {
    const first = await post(user('u1', 'Hello'));
    await post(assistant('a1'));
    const again = await post(user('u1', 'Hello'));
    expect(again).toMatchObject({ status: 200, body: { ...first.body, isNew: false } });
    expect(await records()).toHaveLength(2);
  });

  test('sent again with other words is 409, and the first one stays', async () => {
    await post(user('u1', 'Hello'));
    expect(await post(user('u1', 'Goodbye'))).toMatchObject({ status: 409, body: { code: 'ENTRY_EXISTS' } });
    expect(await records()).toMatchObject([{ message: { content: 'Hello' } }]);
  });

  slowTest('by two clients at the same time appears exactly once, in the order of the responses', async () => {
    const sent = (name: string) => Array.from({ length: 12 }, (_, at) => assistant(`${name}${at}`));
    await post(user('u1'));
    const both = ['x', 'y'].map(async (name) => {
      // Each is sent twice, as by a client that has lost the response.
      for (const record of sent(name)) await Promise.all([post(record), post(record)]);
    });
    await Promise.all(both);
    const ids = (await records()).flatMap((record) => (record.type === 'other' ? [] : [record.id]));
    expect(ids.toSorted()).toEqual(
      ['u1', ...sent('x').map(({ id }) => id), ...sent('y').map(({ id }) => id)].toSorted(),
    );
    expect(ids.filter((id) => id.startsWith('x'))).toEqual(sent('x').map(({ id }) => id));
  });

  test('goes to the line that the path names, even to a branch', async () => {
    await post(user('u1'));
    const branch = `teddy/${session}--01-branch-01`;
    await server.project.setRef(`refs/heads/${branch}`, await server.project.tipOf(line));
    const { body } = await post(assistant('a1'), `/api/sessions/${encodeURIComponent(branch)}/entries`);
    expect(body).toMatchObject({ session, line: branch, commit: await server.project.tipOf(branch) });
    expect(await records()).toHaveLength(1);
  });

  test('with half a surrogate pair and a line separator is returned as it was sent', async () => {
    await post(user('u1', 'a\uD83D\u2028b'));
    const { body } = await server.call('GET', `${base}/history?format=jsonl`);
    expect(await records()).toMatchObject([{ message: { content: 'a\uD83D\u2028b' } }]);
    expect(body['messages']).toContain('u1');
  });
});

describe('an invalid record', () => {
  test.each([
    ['a call alone', [call('c1')]],
    ['a call that is not in a list', call('c1')],
    ['a result alone', result('r1', 'c1')],
    ['a call of two without its result', [call('c1'), call('c2'), result('r1', 'c1')]],
    ['two messages in a list', [user('u1'), user('u2')]],
    ['an empty list', []],
    ['a list of lists', [[user('u1')]]],
    ['a content without blocks', { ...user('u1'), message: { role: 'user', content: [] } }],
    ['a block without a type', { ...user('u1'), message: { role: 'user', content: [{ text: 'x' }] } }],
    ['an empty id', user('')],
    ['an id of 201 characters', user('a'.repeat(201))],
    ['an id with a line end', user('a\nb')],
    ['an id that is a number', { ...user('u1'), id: 7 }],
    ['no type', { ...user('u1'), type: undefined }],
    ['an unknown type', { ...user('u1'), type: 'system' }],
    ['an invalid time', { ...user('u1'), timestamp: 'yesterday' }],
    ['a time without a zone', { ...user('u1'), timestamp: '2026-01-24T10:00:00' }],
    ['an unknown source', { ...user('u1'), source: 'plan' }],
    ['an empty text', user('u1', ' \n')],
    ['a user who speaks as the assistant', { ...user('u1'), message: { role: 'assistant', content: 'Hello' } }],
    ['a file in the turn', { ...user('u1'), message: { role: 'user', file: 'plan.md' } }],
    ['an unknown field', { ...user('u1'), mesage: 'Hello' }],
    ['text', '"Hello"'],
    ['null', 'null'],
  ])('%s is 400, and nothing is appended', async (_, body) => {
    const before = await server.project.tipOf(line);
    const answer = await post(body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'BAD_RECORD' } });
    expect(answer.text).not.toMatch(zodWords);
    expect((answer.body['errors'] as string[]).length).toBeGreaterThan(0);
    expect(await server.project.tipOf(line)).toBe(before);
  });

  slowTest('in the seed’s form may lack an id, and is recognized by its content', async () => {
    const said = { type: 'user', message: { role: 'user', content: 'Look.' }, timestamp: '2026-02-21T10:00:00Z' };
    const calls = [
      { type: 'tool_use', tool_call_id: 't1', tool_name: 'read_file', tool_input: { path: 'a' } },
      { type: 'tool_result', tool_call_id: 't1', output: 'A' },
    ];
    const blocks = [
      {
        type: 'assistant',
        message: { role: 'assistant', content: [{ type: 'tool_use', id: 't2', name: 'ls', input: {} }] },
      },
      { type: 'user', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't2', content: 'B' }] } },
    ];
    for (const isNew of [true, false]) {
      for (const body of [said, calls, blocks])
        expect(await post(body)).toMatchObject({ status: 200, body: { isNew } });
    }
    expect((await records()).map(({ type }) => type)).toEqual([
      'user',
      'tool_use',
      'tool_result',
      'tool_use',
      'tool_result',
    ]);
  });

  test('is answered with all of its faults, and their places', async () => {
    const { body } = await post([
      { ...call('c1'), tool_name: '' },
      { ...result('r1', 'c1'), is_error: 'no', id: '' },
    ]);
    expect(body['errors']).toHaveLength(3);
    for (const place of ['0.tool_name', '1.id', '1.is_error']) expect(String(body['errors'])).toContain(place);
  });

  test('may be malformed JSON, or nested too deeply', async () => {
    expect(await post('{"type":')).toMatchObject({ status: 400, body: { code: 'MALFORMED_JSON' } });
    const deep = `{"type":"orchestrator_meta","id":"m1","a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
    expect(await post(deep)).toMatchObject({ status: 400, body: { code: 'BAD_RECORD' } });
    expect(server.failures).toEqual([]);
  });

  slowTest('does not include one of 10 MiB, although JSON escapes make it six times as long; more is 413', async () => {
    const message = (text: string) => `{"type":"user","id":"u1","message":{"role":"user","content":"${text}"}}`;
    const known = Buffer.byteLength('typeuseridu1messageroleusercontent');
    const fitting = '\\u0061'.repeat(maxBytes - known);
    expect(await post(message(`${fitting}b`))).toMatchObject({ status: 413, body: { code: 'CONTENT_TOO_LARGE' } });
    expect(await post(message(fitting))).toMatchObject({ status: 200 });
  });

  test('for an unknown session is 404 in every call, while announcing a file for one stays 400', async () => {
    const nowhere = '/api/sessions/20250101-nowhere';
    const answers = await Promise.all([
      post(user('u1'), `${nowhere}/entries`),
      server.call('GET', `${nowhere}/history`),
      server.call('GET', `${nowhere}/events`),
    ]);
    for (const answer of answers) expect(answer).toMatchObject({ status: 404, body: { code: 'UNKNOWN_SESSION' } });
    const wish = { intent: 'try', target_file: 'a.md', operation: 'create', session: '20250101-nowhere' };
    expect(await server.call('POST', '/api/write-session/begin', wish)).toMatchObject({
      status: 400,
      body: { code: 'UNKNOWN_SESSION' },
    });
  });
});

describe('sessions and histories', () => {
  test('have the same list as the command line', async () => {
    await post(user('u1', 'Hello'));
    expect(await server.call('GET', '/api/sessions')).toMatchObject({
      status: 200,
      body: {
        sessions: [{ session, line, remote: null, turns: 1, status: 'open', conversationBranches: [], current: true }],
      },
    });
  });

  test('have text and voice as one history, in each format', async () => {
    await post({ ...user('u1', 'Hello'), source: 'voice_transcription' });
    await post({ ...assistant('a1', 'Good day'), source: 'voice_response' });
    await post(user('u2', 'And now in text'));
    const commit = await server.project.tipOf(line);
    expect((await server.call('GET', `${base}/history`)).body).toEqual({
      session,
      commit,
      format: 'openai',
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Good day' },
        { role: 'user', content: 'And now in text' },
      ],
      repairs: [],
    });
    for (const format of ['anthropic', 'jsonl', 'markdown']) {
      const { status, body } = await server.call('GET', `${base}/history?format=${format}`);
      expect({ status, body }).toMatchObject({ status: 200, body: { session, commit, format } });
      expect(typeof body['messages']).toBe(format === 'anthropic' ? 'object' : 'string');
    }
  });

  test('can begin at a turn, and be read at a commit', async () => {
    await post(user('u1'));
    const { body: answered } = await post(assistant('a1'));
    await post(user('u2'));
    const at = async (query: string) => (await server.call('GET', `${base}/history?${query}`)).body;
    expect(await at('from=02')).toMatchObject({ messages: [{ content: 'u2' }] });
    expect(await at(`commit=${String(answered['commit'])}`)).toMatchObject({
      commit: answered['commit'],
      messages: [{ content: 'u1' }, { content: 'a1' }],
    });
  });

  test('refuse a commit from another session with 404', async () => {
    await post(user('u1'));
    await server.project.switchTo('main');
    await start(server.project, 'other');
    const commit = await server.project.tipOf('teddy/20260124-other');
    const answer = await server.call('GET', `${base}/history?commit=${commit}`);
    expect(answer).toMatchObject({ status: 404, body: { code: 'UNKNOWN_COMMIT' } });
  });

  test.each([
    ['format=xml', 400, 'UNKNOWN_FORMAT'],
    ['format=', 400, 'UNKNOWN_FORMAT'],
    ['from=99', 404, 'UNKNOWN_TURN'],
    ['from=x', 404, 'UNKNOWN_TURN'],
    ['commit=HEAD', 400, 'USAGE'],
    [`commit=${'f'.repeat(40)}`, 404, 'UNKNOWN_COMMIT'],
    ['formt=openai', 400, 'USAGE'],
    ['from=01&from=02', 400, 'USAGE'],
  ])('answer a history with %s with %i', async (query, status, code) => {
    await post(user('u1'));
    expect(await server.call('GET', `${base}/history?${query}`)).toMatchObject({ status, body: { code } });
  });

  test('refuse a commit on no line with 404', async () => {
    const commit = await server.project.tipOf('main');
    expect(await server.call('GET', `${base}/history?commit=${commit}`)).toMatchObject({ status: 404 });
  });

  test('report a server failure as 500, with only its code', async () => {
    const fail = () => Promise.reject(new TeddyError('HISTORY_INVALID', 'It breaks a rule.'));
    await reopen({ sessions: { history: fail } });
    expect(await server.call('GET', `${base}/history`)).toMatchObject({
      status: 500,
      body: { code: 'HISTORY_INVALID' },
    });
    expect(server.failures).toHaveLength(1);
  });
});

describe('refused calls', () => {
  const calls: [string, string, object | undefined][] = [
    ['GET', '/api/sessions', undefined],
    ['POST', entries, user('u1')],
    ['GET', `${base}/history`, undefined],
    ['GET', `${base}/events`, undefined],
  ];
  const refused: [string, Record<string, string | undefined>, number, string][] = [
    ['no token', { Authorization: undefined }, 401, 'TOKEN_REFUSED'],
    ['another token', { Authorization: 'Bearer x' }, 401, 'TOKEN_REFUSED'],
    ['a foreign host', { Host: 'example.org' }, 403, 'HOST_REFUSED'],
    ['a foreign origin', { Origin: 'https://example.org' }, 403, 'ORIGIN_REFUSED'],
  ];

  test.each(calls.flatMap(([method, path, body]) => refused.map((other) => [method, path, ...other, body] as const)))(
    'include %s %s with %s',
    async (method, path, _, headers, status, code, body) => {
      const before = await server.project.tipOf(line);
      expect(await server.call(method, path, body, headers)).toMatchObject({ status, body: { code } });
      expect(await server.project.tipOf(line)).toBe(before);
    },
  );

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1'])(
    'include a record as %s, which is 415',
    async (type) => {
      const answer = await server.call('POST', entries, user('u1'), { 'Content-Type': type });
      expect(answer).toMatchObject({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
    },
  );

  test.each([
    ['DELETE', entries, 'POST'],
    ['POST', '/api/sessions', 'GET'],
    ['POST', `${base}/events`, 'GET'],
  ])('include %s %s, which is 405 and names %s', async (method, path, allowed) => {
    const answer = await server.call(method, path);
    expect(answer).toMatchObject({ status: 405, headers: { allow: allowed } });
  });

  slowTest('leave no message in the log', async () => {
    await post(user('u1', 'a private word'));
    await post({ ...user('u2', 'a private word'), source: 'private' });
    const stream = await openEvents(server, `${base}/events`);
    await post(assistant('a1', 'a private word'));
    await stream.until(2);
    stream.close();
    while (server.lines.length < 4) await sleep(5);
    expect(JSON.stringify(server.lines)).not.toContain('private');
    expect(server.lines.at(-1)).toMatchObject({ method: 'GET', path: `${base}/events`, status: 200 });
  });
});

/** Only the head. */
function head(path: string): Promise<Pick<Answer, 'status' | 'headers'>> {
  const headers = { Authorization: `Bearer ${server.token}` };
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: server.port, method: 'HEAD', path, headers, agent: false };
    const sent = request(options, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    });
    sent.on('error', reject).end();
  });
}

test('a stream’s head is requested without opening the stream', async () => {
  expect(await head(`${base}/events`)).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream' } });
});
