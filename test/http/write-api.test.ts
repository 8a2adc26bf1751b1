import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { TeddyError, type ErrorCode } from '../../src/errors.ts';
import { statusOfCode } from '../../src/http/status.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { memoryWrites } from '../support/memory-writes.ts';
import { line, start } from '../support/turns.ts';
import { openTestServer, type TestServer, type TestServerOptions } from '../support/http-server.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

const base = '/api/write-session';
const unknownId = '0b9d2f6e-3c1a-4f7e-9a55-6d2f8c1e7b40';
const notFound = 'Session not found or expired. Please start a new write session.';
const tooLarge = 'Content exceeds 10MB limit. Please reduce file size.';
const maxBytes = 10 * 1024 * 1024;

let server: TestServer;

async function reopen(options: TestServerOptions): Promise<void> {
  await server.stop();
  server = await openTestServer(options);
}

function failing(code: ErrorCode, message = 'It failed.'): TestServerOptions {
  return { writes: { list: () => Promise.reject(new TeddyError(code, message)) } };
}

beforeEach(async () => {
  server = await openTestServer();
});

afterEach(() => server.stop());

describe('begin', () => {
  test('returns everything a writer needs, and writes nothing yet', async () => {
    const begun = await server.begin('./docs/guide.md');
    expect(begun).toEqual({
      target_file: 'docs/guide.md',
      session_id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/) as string,
      status: 'active',
      stage: 'awaiting_content',
      session_dir: server.project.writes.directoryOf(begun.session_id),
      end_marker: 'DONE',
      instructions: 'Now output content. End with DONE on its own line.',
      warnings: [],
    });
    expect(await server.project.read('docs/guide.md')).toBeNull();
  });

  test('clears sessions that nobody has continued for an hour, and names them', async () => {
    const { session_id } = await server.begin('old.md');
    await server.append(session_id, 0, 'old\n');
    const left = server.project.writing.get(session_id);
    if (left === undefined) throw new Error('It was not begun.');
    Object.assign(left, { isAlive: false, savedAt: new Date(left.savedAt.getTime() - 3_600_000) });
    await server.begin('a.md');
    expect(server.cleaned).toEqual([session_id]);
    expect(server.project.writing.has(session_id)).toBe(false);
  });

  test('is not refused because old sessions cannot be inspected', async () => {
    server.project.writes.list = () => Promise.reject(new TeddyError('WRITE_FAILED', 'It cannot be read.'));
    await server.begin('a.md');
    expect(server.project.said).toContain('warning: It cannot be read.');
  });

  test('returns a special end marker on request, and the instructions name it', async () => {
    const begun = await server.begin('a.md', { own_end_marker: true });
    expect(begun['end_marker']).toMatch(/^DONE-[\da-f]{8}$/);
    expect(begun['instructions']).toBe(`Now output content. End with ${String(begun['end_marker'])} on its own line.`);
  });

  test('accepts an overwrite of a missing file, with a warning', async () => {
    expect((await server.begin('a.md', { operation: 'overwrite' }))['warnings']).toHaveLength(1);
  });

  test.each([
    ['no target', { operation: 'create' }, 'BAD_TARGET', 'Target file path is required.'],
    ['an empty target', { operation: 'create', target_file: '' }, 'BAD_TARGET', 'Target file path is required.'],
    [
      'a target that is a number',
      { operation: 'create', target_file: 7 },
      'BAD_TARGET',
      'Target file path is required.',
    ],
    [
      'an unknown operation',
      { operation: 'delete', target_file: 'a.md' },
      'BAD_OPERATION',
      "Invalid operation type. Must be 'create', 'overwrite', or 'append'.",
    ],
    ['neither target nor operation', {}, 'BAD_TARGET', 'Target file path is required.'],
  ])('answers %s with 400', async (_, wish, code, error) => {
    const answer = await server.call('POST', `${base}/begin`, { intent: 'try', ...wish });
    expect(answer).toMatchObject({ status: 400, body: { code, error } });
    expect((answer.body['errors'] as string[])[0]).toBe(error);
  });

  test('reports all faults in a request together', async () => {
    const { body } = await server.call('POST', `${base}/begin`, {});
    expect(body['errors']).toHaveLength(3);
  });

  test('refuses a target outside the work tree with 400', async () => {
    const wish = { intent: 'try', target_file: '../a.md', operation: 'create' };
    expect(await server.call('POST', `${base}/begin`, wish)).toMatchObject({
      status: 400,
      body: { code: 'BAD_TARGET' },
    });
  });

  const id = unknownId;
  test.each<[path: string, body: unknown, error: string]>([
    ['begin', [], 'the body: must be an object'],
    ['begin', null, 'the body: must be an object'],
    ['begin', '"text"', 'the body: must be an object'],
    ['begin', { target_file: 'a.md', operation: 'create' }, 'intent: is missing'],
    ['begin', { target_file: 'a.md', operation: 'create', intent: 7 }, 'intent: must be a text'],
    ['begin', { target_file: 'a.md', operation: 'create', intent: null }, 'intent: must be a text'],
    ['begin', { target_file: 'a.md', operation: 'create', intent: '', session: '' }, 'session: must not be empty'],
    [
      'begin',
      { target_file: 'a.md', operation: 'create', intent: '', own_end_marker: 'yes' },
      'own_end_marker: must be true or false',
    ],
    [
      'begin',
      { target_file: 'a.md', operation: 'create', intent: '', content: 'x', more: 1 },
      'the body: has unknown fields: "content", "more"',
    ],
    ['append', { session_id: id, offset: 0 }, 'data: is missing'],
    ['append', { session_id: id, offset: '0', data: '' }, 'offset: must be a whole number'],
    ['append', { session_id: id, offset: 0.5, data: '' }, 'offset: must be a whole number'],
    ['append', { session_id: id, offset: -1, data: '' }, 'offset: must be at least 0'],
    ['append', { session_id: id, offset: 1e300, data: '' }, 'offset: must be a whole number'],
    ['append', { session_id: [], offset: 0, data: '' }, 'session_id: must be a text'],
    ['finalize', { session_id: id, content: {} }, 'content: must be a text'],
    ['finalize', { session_id: id, force: 1 }, 'force: must be true or false'],
  ])('answers %s %j with 400, and the reason', async (path, body, error) => {
    const answer = await server.call('POST', `${base}/${path}`, body);
    expect(answer.status).toBe(400);
    expect(answer.body['errors']).toContain(error);
  });

  test('distinguishes an empty body from one that is not JSON', async () => {
    const headers = { 'Content-Type': 'application/json' };
    const empty = await server.call('POST', `${base}/begin`, undefined, headers);
    expect(empty).toMatchObject({
      status: 400,
      body: { code: 'MALFORMED_JSON', error: 'The body is empty: send JSON.' },
    });
  });

  test('refuses an unknown field, so that no misspelt one is overlooked', async () => {
    const wish = { intent: 'try', target_file: 'a.md', operation: 'create', content: 'A\n' };
    expect(await server.call('POST', `${base}/begin`, wish)).toMatchObject({ status: 400, body: { code: 'USAGE' } });
    expect(await server.project.writes.list()).toEqual([]);
  });

  test('refuses a second session with 409 while the first one is active', async () => {
    await server.begin('a.md');
    const wish = { intent: 'try', target_file: 'b.md', operation: 'create' };
    expect(await server.call('POST', `${base}/begin`, wish)).toMatchObject({
      status: 409,
      body: { code: 'WRITE_ACTIVE', error: 'Another write session is already active. Please wait for it to complete.' },
    });
  });

  test('allows named sessions in parallel and others only one after the other, wherever HEAD is', async () => {
    const [one, two] = [
      await newSession(server.project, { name: 'one', switch: false }),
      await start(server.project, 'two'),
    ];
    await server.begin('a.md', { session: one.session });
    await server.begin('b.md', { session: two.session });
    await newSession(server.project, { name: 'three', switch: true });
    await server.begin('c.md');
    await newSession(server.project, { name: 'four', switch: true });
    const wish = { intent: 'try', target_file: 'd.md', operation: 'create' };
    expect(await server.call('POST', `${base}/begin`, wish)).toMatchObject({
      status: 409,
      body: { code: 'WRITE_ACTIVE' },
    });
  });

  test('refuses a create of an existing file with 409', async () => {
    const wish = { intent: 'try', target_file: 'README.md', operation: 'create' };
    const answer = await server.call('POST', `${base}/begin`, wish);
    expect(answer).toMatchObject({ status: 409, body: { code: 'FILES_IN_THE_WAY' } });
  });
});

describe('append', () => {
  test('counts the offset in bytes of UTF-8, and treats DONE as data', async () => {
    const { session_id: id } = await server.begin('a.txt');
    expect((await server.append(id, 0, 'ä\n')).body).toEqual({ session_id: id, offset: 3, added: 3 });
    expect((await server.append(id, 3, 'DONE\nb\n')).body).toEqual({ session_id: id, offset: 10, added: 7 });
    expect(await server.finalize(id)).toMatchObject({ status: 200 });
    expect(await server.project.read('a.txt')).toBe('ä\nDONE\nb\n');
  });

  test('ignores the same bytes again, and adds the rest of an overlap', async () => {
    const { session_id: id } = await server.begin('a.txt');
    await server.append(id, 0, 'one\n');
    expect(await server.append(id, 0, 'one\n')).toMatchObject({ status: 200, body: { offset: 4, added: 0 } });
    expect(await server.append(id, 2, 'e\ntwo\n')).toMatchObject({ status: 200, body: { offset: 8, added: 4 } });
    await server.finalize(id);
    expect(await server.project.read('a.txt')).toBe('one\ntwo\n');
  });

  test.each([
    ['a gap', 5, 'two\n'],
    ['other bytes', 0, 'two\n'],
  ])('answers %s with 409 and the expected offset, and adds nothing', async (_, offset, data) => {
    const { session_id: id } = await server.begin('a.txt');
    await server.append(id, 0, 'one\n');
    expect(await server.append(id, offset, data)).toMatchObject({
      status: 409,
      body: { code: 'OFFSET_MISMATCH', expected_offset: 4 },
    });
    const { body } = await server.call('GET', `${base}/status/${id}`);
    expect(body).toMatchObject({ size: 4, stage: 'receiving' });
  });

  test('answers an unknown session with 404, whatever its id looks like', async () => {
    for (const id of [unknownId, 'x', '../../../etc', unknownId.replace('-4f7e', '-1f7e')]) {
      expect(await server.append(id, 0, 'a')).toMatchObject({
        status: 404,
        body: { code: 'UNKNOWN_WRITE', error: notFound },
      });
    }
  });

  test.each([
    ['no offset', { data: 'a' }],
    ['a negative offset', { offset: -1, data: 'a' }],
    ['half an offset', { offset: 0.5, data: 'a' }],
    ['an offset as text', { offset: '0', data: 'a' }],
    ['no data', { offset: 0 }],
    ['data that is a list', { offset: 0, data: ['a'] }],
    ['half a surrogate pair', { offset: 0, data: 'a\uD83D' }],
  ])('answers %s with 400', async (_, wish) => {
    const { session_id: id } = await server.begin('a.txt');
    const answer = await server.call('POST', `${base}/append`, { session_id: id, ...wish });
    expect(answer).toMatchObject({ status: 400, body: { code: 'USAGE' } });
  });

  slowTest(
    'accepts 10 MiB, although JSON escapes make them six times as long, and refuses one byte more with 413',
    async () => {
      const { session_id: id } = await server.begin('a.txt');
      const escaped = '\\u0061'.repeat(maxBytes);
      const send = (data: string) =>
        server.call('POST', `${base}/append`, `{"session_id":"${id}","offset":0,"data":"${data}"}`);
      expect(await send(`${escaped}b`)).toMatchObject({
        status: 413,
        body: { code: 'CONTENT_TOO_LARGE', error: tooLarge },
      });
      expect(await send(escaped)).toMatchObject({ status: 200, body: { offset: maxBytes } });
      expect(await server.append(id, maxBytes, 'b')).toMatchObject({ status: 413, body: { error: tooLarge } });
    },
  );

  test('counts bytes, not characters', async () => {
    await reopen({ limits: { maxBytes: 10 } });
    const { session_id: id } = await server.begin('a.txt');
    expect(await server.append(id, 0, 'ääääää')).toMatchObject({ status: 413 });
    expect(await server.append(id, 0, 'äääää')).toMatchObject({ status: 200 });
  });
});

describe('finalize', () => {
  test('returns the commit, which has the content', async () => {
    const { session_id: id } = await server.begin('docs/a.md');
    await server.append(id, 0, '# A\n');
    const { status, body } = await server.finalize(id);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { session_id: id, success: true, errors: [], written_path: 'docs/a.md' },
    });
    expect(Object.keys(body['validation_summary'] as object).toSorted()).toEqual(['failed', 'passed', 'skipped']);
    const { store } = server.project.repository;
    const commit = await store.resolve(String(body['commit']));
    expect(commit === null ? null : await server.project.readAt(commit, 'docs/a.md')).toBe('# A\n');
  });

  test('replaces the appended content if it gets its own', async () => {
    const { session_id: id } = await server.begin('a.txt');
    await server.append(id, 0, 'draft\n');
    expect(await server.finalize(id, { content: 'final\n' })).toMatchObject({ status: 200 });
    expect(await server.project.read('a.txt')).toBe('final\n');
  });

  test('returns the same and commits once if it is repeated; other content is 404', async () => {
    const { session_id: id } = await server.begin('a.txt');
    const first = await server.finalize(id, { content: 'A\n' });
    expect(await server.finalize(id, { content: 'A\n' })).toMatchObject({ status: 200, body: first.body });
    expect(await server.finalize(id)).toMatchObject({ status: 200, body: first.body });
    expect(await server.finalize(id, { content: 'B\n' })).toMatchObject({ status: 404, body: { error: notFound } });
    expect(await server.project.read('a.txt')).toBe('A\n');
  });

  test('makes one commit if it is called twice at the same time', async () => {
    const { session_id: id } = await server.begin('a.txt');
    const answers = await Promise.all([1, 2].map(() => server.finalize(id, { content: 'A\n' })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[0]?.body['commit']).toBe(answers[1]?.body['commit']);
  });

  test('answers invalid content with 400 and the findings, and the session stays open', async () => {
    const { session_id: id } = await server.begin('a.json');
    const { status, body } = await server.finalize(id, { content: '{"a": }\n' });
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { success: false, code: 'VALIDATION_FAILED', stage: 'needs_corrections', reason: null },
    });
    const [first] = body['errors'] as string[];
    expect(first).toMatch(/^line 1, column \d+: /);
    expect(body['error']).toBe(`Validation failed: ${(body['errors'] as string[]).join('; ')}`);
    expect(body['findings']).toMatchObject([{ line: 1 }]);
    expect((body['validation_summary'] as { failed: string[] }).failed).not.toEqual([]);
    expect(await server.finalize(id, { content: '{"a": 1}\n' })).toMatchObject({ status: 200 });
  });

  test('accepts the findings with force', async () => {
    const { session_id: id } = await server.begin('a.json');
    await server.append(id, 0, '{"a": }\n');
    expect(await server.finalize(id, { force: true })).toMatchObject({ status: 200 });
    expect(await server.project.read('a.json')).toBe('{"a": }\n');
  });

  test.each([
    ['nothing', {}],
    ['an empty text', { content: '' }],
  ])('answers %s as content with 400, and explains that it cannot be empty', async (_, wish) => {
    const { session_id: id } = await server.begin('a.txt');
    expect(await server.finalize(id, wish)).toMatchObject({
      status: 400,
      body: {
        error: 'Validation failed: content cannot be empty',
        code: 'VALIDATION_FAILED',
        errors: ['content cannot be empty'],
        success: false,
        validation_summary: { failed: ['content'] },
      },
    });
  });

  test('answers a target that appeared since begin with 409, and leaves it unchanged', async () => {
    const { session_id: id } = await server.begin('a.txt');
    await server.project.write({ 'a.txt': 'mine\n' });
    expect(await server.finalize(id, { content: 'A\n' })).toMatchObject({
      status: 409,
      body: { code: 'TARGET_CHANGED', error: 'Target changed since the session began.' },
    });
    expect(await server.project.read('a.txt')).toBe('mine\n');
  });

  test('answers content over the limit with 413, and an unknown session with 404', async () => {
    const { session_id: id } = await server.begin('a.txt');
    const content = 'a'.repeat(maxBytes + 1);
    expect(await server.finalize(id, { content })).toMatchObject({ status: 413, body: { error: tooLarge } });
    expect(await server.finalize(unknownId, { content: 'A\n' })).toMatchObject({
      status: 404,
      body: { error: notFound },
    });
  });
});

describe('status, list and cancel', () => {
  test('the status reports the progress, and names the commit at the end', async () => {
    const { session_id: id } = await server.begin('a.txt');
    await server.append(id, 0, 'A\n');
    expect(await server.call('GET', `${base}/status/${id}`)).toMatchObject({
      status: 200,
      body: { session_id: id, status: 'active', stage: 'receiving', size: 2, target_file: 'a.txt', commit: null },
    });
    const { body } = await server.finalize(id);
    expect(await server.call('GET', `${base}/status/${id}`)).toMatchObject({
      status: 200,
      body: { status: 'completed', stage: 'committed', commit: body['commit'], written_path: 'a.txt' },
    });
  });

  test('the list has every session', async () => {
    expect((await server.call('GET', base)).body).toEqual({ sessions: [] });
    const { session_id: id } = await server.begin('a.txt');
    expect((await server.call('GET', base)).body).toMatchObject({ sessions: [{ session_id: id, status: 'active' }] });
  });

  test('a cancelled session is unknown to every call, and its slot is free', async () => {
    const { session_id: id } = await server.begin('a.txt');
    expect(await server.call('DELETE', `${base}/${id}`)).toMatchObject({ status: 200, body: { success: true } });
    const answers = await Promise.all([
      server.call('DELETE', `${base}/${id}`),
      server.call('GET', `${base}/status/${id}`),
      server.append(id, 0, 'A\n'),
      server.finalize(id, { content: 'A\n' }),
    ]);
    for (const answer of answers) expect(answer).toMatchObject({ status: 404, body: { error: notFound } });
    await server.begin('b.txt');
  });

  test.each(['x', '%2e%2e%2f%2e%2e', unknownId.toUpperCase(), unknownId])('the id %s is 404', async (id) => {
    expect(await server.call('GET', `${base}/status/${id}`)).toMatchObject({
      status: 404,
      body: { code: 'UNKNOWN_WRITE' },
    });
    expect(await server.call('DELETE', `${base}/${id}`)).toMatchObject({
      status: 404,
      body: { code: 'UNKNOWN_WRITE' },
    });
  });
});

describe('in every call', () => {
  test.each(['{', '', 'null', '[]', '"text"', '{"session_id":'])('the body %j is 400', async (text) => {
    for (const name of ['begin', 'append', 'finalize']) {
      const { status, body } = await server.call('POST', `${base}/${name}`, text);
      expect({ name, status, body: Object.keys(body) }).toEqual({
        name,
        status: 400,
        body: ['error', 'code', 'errors'],
      });
    }
  });

  test('a body that is not UTF-8 is 400', async () => {
    const connection = server.open();
    const head = [`Host: 127.0.0.1:${server.port}`, `Authorization: Bearer ${server.token}`, 'Connection: close'];
    void connection.send(`POST ${base}/begin HTTP/1.1\r\n${head.join('\r\n')}\r\n`);
    void connection.send('Content-Type: application/json\r\nContent-Length: 4\r\n\r\n');
    connection.socket.write(Buffer.from([0x22, 0xc3, 0x28, 0x22]));
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 400 [^]*"code":"MALFORMED_JSON"/);
  });

  test.each([
    ['text/plain', undefined],
    ['application/x-www-form-urlencoded', undefined],
    ['application/json; charset=latin1', undefined],
    ['application/jsonp', undefined],
    ['application/json', 'gzip'],
  ])('a body as %s, encoded %s, is 415', async (type, encoding) => {
    const headers = { 'Content-Type': type, ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }) };
    for (const name of ['begin', 'append', 'finalize']) {
      expect(await server.call('POST', `${base}/${name}`, {}, headers)).toMatchObject({
        status: 415,
        body: { code: 'UNSUPPORTED_MEDIA_TYPE' },
      });
    }
  });

  test('a body that names its charset is accepted', async () => {
    const headers = { 'Content-Type': 'Application/JSON; charset=UTF-8' };
    const wish = { intent: 'try', target_file: 'a.md', operation: 'create' };
    expect(await server.call('POST', `${base}/begin`, wish, headers)).toMatchObject({ status: 200 });
  });

  test.each(['/api', `${base}/`, `${base}/begin/x`, '/openapi.json/', '/favicon.ico'])(
    '%s is unknown',
    async (path) => {
      expect(await server.call('GET', path)).toMatchObject({ status: 404, body: { code: 'NO_SUCH_CALL' } });
    },
  );

  test.each([
    ['GET', `${base}/begin`, 'POST'],
    ['PUT', `${base}/append`, 'POST'],
    ['DELETE', `${base}/status/${unknownId}`, 'GET'],
    ['POST', base, 'GET'],
    ['POST', `${base}/${unknownId}`, 'DELETE'],
    ['OPTIONS', `${base}/finalize`, 'POST'],
    ['POST', '/openapi.json', 'GET'],
  ])('%s %s is 405 and names %s as the right one', async (method, path, allowed) => {
    const answer = await server.call(method, path);
    expect(answer).toMatchObject({ status: 405, body: { code: 'METHOD_NOT_ALLOWED' } });
    expect(answer.headers['allow']).toContain(allowed);
  });

  test.each(Object.entries(statusOfCode) as [ErrorCode, number][])('%s is answered with %d', async (code, status) => {
    await reopen(failing(code));
    expect(await server.call('GET', base)).toMatchObject({
      status,
      body: { error: 'It failed.', code, errors: ['It failed.'] },
    });
  });

  test('the table has every code that the calls’ verbs throw, except server failures', () => {
    const names = ['begin', 'append', 'finalize', 'cancel', 'list', 'held', 'install', 'commit', 'find', 'inspect'];
    const dir = new URL('../../src/workflow/writes/', import.meta.url);
    const files = readdirSync(dir).filter((name) => names.includes(name.split(/[-.]/)[0] ?? ''));
    const texts = [...files, '../../write/write-errors.ts'].map((name) => readFileSync(new URL(name, dir), 'utf8'));
    const thrown = texts.flatMap((text) =>
      [...text.matchAll(/(?:TeddyError|super)\(\s*'([A-Z_]+)'/g)].map(([, code]) => code),
    );
    const failures = ['BAD_SETTING', 'WRITE_FAILED', 'GIT_FAILED', 'NO_IDENTITY'];
    expect(thrown).toContain('UNKNOWN_WRITE');
    expect(thrown.filter((code = '') => !(code in statusOfCode) && !failures.includes(code))).toEqual([]);
  });

  test('an unexpected failure is 500 without details, and is reported with its stack', async () => {
    await reopen({ writes: { list: () => Promise.reject(new Error('/etc/secret is missing')) } });
    expect(await server.call('GET', base)).toMatchObject({
      status: 500,
      body: { error: 'An internal error occurred. Please try again.', code: 'DEFECT', errors: [] },
    });
    expect(server.failures).toMatchObject([{ message: '/etc/secret is missing' }]);
  });

  test('an expected server failure is 500 with its code', async () => {
    await reopen(failing('NO_IDENTITY', 'git does not know who you are.'));
    expect((await server.call('GET', base)).body).toEqual({
      error: 'An internal error occurred. Please try again.',
      code: 'NO_IDENTITY',
      errors: ['git does not know who you are.'],
    });
  });

  test('changes are made one after another', async () => {
    const running: string[] = [];
    const slow = async (name: string) => {
      running.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, 30));
      running.push(`${name} ends`);
    };
    await reopen({
      writes: {
        cancel: () => slow('cancel'),
        append: async () => (await slow('append'), { session_id: unknownId, offset: 1, added: 1 }),
      },
    });
    await Promise.all([server.append(unknownId, 0, 'a'), server.call('DELETE', `${base}/${unknownId}`)]);
    expect(running.map((text) => text.split(' ')[1])).toEqual(['begins', 'ends', 'begins', 'ends']);
  });

  test('a request is one line in the log, which has neither content nor token', async () => {
    const { session_id: id } = await server.begin('a.txt');
    await server.append(id, 0, 'content-of-mine\n');
    await server.call('GET', `/nothing%1b?token=${server.token}`);
    expect(server.lines).toMatchObject([
      { method: 'POST', path: `${base}/begin`, status: 200, session_id: id },
      { method: 'POST', path: `${base}/append`, status: 200, session_id: id },
      { method: 'GET', path: '/nothing%1b', status: 404, code: 'NO_SUCH_CALL' },
    ]);
    expect(server.lines[0]?.time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(JSON.stringify(server.lines)).not.toMatch(new RegExp(`content-of-mine|${server.token}`));
  });
});

describe('repeating a finalize after a failure', () => {
  const call = { content: '# Guide\n' };

  /** Passes a point before each action that the disk may refuse, and after each that it may do and then fail. */
  function passPoints(point: () => void): void {
    const { project } = server;
    const { store, workspace } = project.repository;
    const { batch } = store;
    const { publish } = workspace;
    const { filesOf } = project;
    project.writes = memoryWrites(project.clock, project.writing, point);
    store.batch = () => {
      const made = batch();
      const flush = async () => {
        point();
        await made.flush();
      };
      return { ...made, flush };
    };
    const around = <Args extends unknown[], Value>(act: (...args: Args) => Promise<Value>) => {
      return async (...args: Args): Promise<Value> => {
        point();
        const value = await act(...args);
        point();
        return value;
      };
    };
    workspace.publish = around(publish);
    project.filesOf = (root) => {
      const files = filesOf(root);
      return { ...files, install: around(files.install), installNew: around(files.installNew) };
    };
  }

  slowTest.each(['create', 'append'])(
    'repairs one that is to %s at every point, and makes one commit',
    async (operation) => {
      let passed = 0;
      let failAt = 0;
      for (failAt = 1; failAt === 1 || passed >= failAt - 1; failAt += 1) {
        await reopen({});
        const { project } = server;
        await start(project);
        if (operation !== 'create') {
          await project.write({ 'docs/guide.md': 'Old\n' });
          await project.commit('Mine');
        }
        const { session_id } = await server.begin('docs/guide.md', { operation });
        await server.append(session_id, 0, 'Something else\n');
        const before = await project.tipOf(line);
        passed = 0;
        passPoints(() => {
          passed += 1;
          if (passed === failAt) throw new TeddyError('WRITE_FAILED', 'The disk does not take it.');
        });
        const first = await server.finalize(session_id, call);
        if (passed < failAt) {
          expect(first.status).toBe(200);
          break;
        }
        // A failure after the commit is reported, and undoes nothing.
        expect([200, 500]).toContain(first.status);
        if (first.status === 500) {
          const again = await server.finalize(session_id, call);
          expect(again, `point ${failAt}`).toMatchObject({ status: 200, body: { success: true } });
          expect((await server.finalize(session_id, call)).body).toEqual(again.body);
        }
        expect(await project.read('docs/guide.md')).toBe(operation === 'append' ? 'Old\n# Guide\n' : '# Guide\n');
        const { store } = project.repository;
        expect((await store.readCommit(await project.tipOf(line))).parents).toEqual([before]);
      }
      expect(failAt).toBeGreaterThan(8);
    },
  );

  test('is refused with other content, once the target is being replaced', async () => {
    await start(server.project);
    const { session_id } = await server.begin('docs/guide.md');
    let isFull = true;
    const { publish } = server.project.repository.workspace;
    server.project.repository.workspace.publish = async (publication) => {
      if (isFull) throw new TeddyError('WRITE_FAILED', 'The disk does not take it.');
      return publish(publication);
    };
    expect((await server.finalize(session_id, call)).status).toBe(500);
    isFull = false;
    expect(await server.finalize(session_id, { content: 'Other\n' })).toMatchObject({
      status: 409,
      body: { code: 'WRITE_FINALIZING' },
    });
    expect((await server.finalize(session_id, call)).status).toBe(200);
  });
});
