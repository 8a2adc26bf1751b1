import { afterAll, beforeAll, describe, expect } from 'vitest';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { openTestServer, type TestServer } from '../support/http-server.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

interface Operation {
  operationId: string;
  summary: string;
  security: object[];
  parameters?: { name: string; in: string; required: boolean }[];
  requestBody?: { required: boolean; content: Record<string, { schema: object }> };
  responses: Record<string, { description: string; content: Record<string, { schema: object }> }>;
}

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean;
  enum?: string[];
}

let server: TestServer;
let document: {
  openapi: string;
  info: { title: string; version: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, object> };
};

beforeAll(async () => {
  server = await openTestServer();
  document = (await server.call('GET', '/openapi.json')).body as unknown as typeof document;
});

afterAll(() => server.stop());

function operations(): [string, string, Operation][] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, string, Operation] => [method, path, operation]),
  );
}

async function firstSession(): Promise<object> {
  const { sessions } = (await server.call('GET', '/api/sessions')).body as { sessions: object[] };
  return sessions[0] ?? {};
}

describe('the API description', () => {
  test('lists exactly the specified calls, with every status', () => {
    const listed = operations().map(
      ([method, path, { responses }]) => `${method} ${path} ${Object.keys(responses).join(' ')}`,
    );
    expect(listed.toSorted()).toEqual([
      'delete /api/write-session/{session_id} 200 404 409',
      'get /api/sessions 200',
      'get /api/sessions/{session}/events 200 400 404 503',
      'get /api/sessions/{session}/history 200 400 404',
      'get /api/write-session 200',
      'get /api/write-session/status/{session_id} 200 404',
      'post /api/page-links 200 400 404',
      'post /api/page-openings 200 400 404',
      'post /api/sessions/{session}/entries 200 400 404 409 413',
      'post /api/write-session/append 200 400 404 409 413',
      'post /api/write-session/begin 200 400 409',
      'post /api/write-session/finalize 200 400 404 409 413',
    ]);
  });

  test('is an OpenAPI 3.1 document for this server', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'teddy', version: '1.2.3' },
      servers: [{ url: server.url }],
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    });
  });

  test('gives every call its own name, requires the token, and describes each response', () => {
    const all = operations().map(([, , operation]) => operation);
    expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length);
    for (const { summary, security, responses } of all) {
      expect(summary).not.toBe('');
      expect(security).toEqual([{ token: [] }]);
      for (const { description, content } of Object.values(responses)) {
        expect(description).not.toBe('');
        const [type, { schema } = {}] = Object.entries(content)[0] ?? [];
        expect(type).toMatch(/^(?:application\/json|text\/event-stream)$/);
        expect(schema).toBeTypeOf('object');
      }
    }
  });

  test('declares every path parameter, and every reference leads somewhere', () => {
    for (const [, path, { parameters = [] }] of operations()) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const [inPath, others] = [true, false].map((isOfPath) =>
        parameters.filter((parameter) => (parameter.in === 'path') === isOfPath),
      );
      expect(inPath?.map(({ name }) => name)).toEqual(named);
      expect(inPath?.every(({ required }) => required)).toBe(true);
      expect(others?.filter(({ required }) => required)).toEqual([]);
    }
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, target]) => target ?? '');
    expect(references.length).toBeGreaterThan(10);
    const known = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(references.filter((target) => !known.includes(target))).toEqual([]);
  });

  test('describes requests by the schemas that check them', () => {
    const { BeginRequest, AppendRequest, FinalizeRequest } = document.components.schemas;
    expect(BeginRequest).toMatchObject({
      required: ['intent', 'target_file', 'operation'],
      additionalProperties: false,
      properties: { operation: { enum: ['create', 'overwrite', 'append'] } },
    });
    expect(AppendRequest).toMatchObject({ required: ['session_id', 'offset', 'data'] });
    expect(FinalizeRequest).toMatchObject({ required: ['session_id'] });
  });

  test('has the session stream’s own event type, and a way to resume it', () => {
    const call = document.paths['/api/sessions/{session}/events']?.['get'];
    expect(Object.keys(call?.responses['200']?.content ?? {})).toEqual(['text/event-stream']);
    expect(call?.parameters?.map(({ in: place, name }) => `${place} ${name}`)).toEqual([
      'path session',
      'query since',
      'header Last-Event-ID',
    ]);
  });

  test('leaves no place for content in a call that announces a file', () => {
    const names = Object.keys(document.components.schemas['BeginRequest']?.properties ?? {});
    expect(names.filter((name) => /content|data|text|body/.test(name))).toEqual([]);
    expect(names).toContain('target_file');
  });

  slowTest('has responses with exactly the fields in their schemas', async () => {
    const { session } = await newSession(server.project, { name: 'try', switch: true });
    const record = { type: 'user', id: 'u1', message: { role: 'user', content: 'Hello' } };
    const { session_id: id } = await server.begin('a.json');
    const answers: [string, object][] = [
      ['EntryAnswer', (await server.call('POST', `/api/sessions/${session}/entries`, record)).body],
      ['SessionsAnswer', (await server.call('GET', '/api/sessions')).body],
      ['ListedSession', await firstSession()],
      ['HistoryAnswer', (await server.call('GET', `/api/sessions/${session}/history`)).body],
      ['AppendAnswer', (await server.append(id, 0, '{')).body],
      ['RejectedAnswer', (await server.finalize(id)).body],
      ['StatusAnswer', (await server.call('GET', `/api/write-session/status/${id}`)).body],
      ['FinalizeAnswer', (await server.finalize(id, { content: '{}\n' })).body],
      ['ListAnswer', (await server.call('GET', '/api/write-session')).body],
      ['BeginAnswer', await server.begin('b.json')],
      ['ErrorAnswer', (await server.append(id, 0, 'x')).body],
    ];
    for (const [name, answer] of answers) {
      expect([name, Object.keys(answer).toSorted()]).toEqual([
        name,
        document.components.schemas[name]?.required?.toSorted(),
      ]);
    }
  });
});

test('the findings that force accepts are reported', () => {
  const { properties } = document.components.schemas['FinalizeRequest'] ?? {};
  expect(properties?.['force']).toMatchObject({
    description: 'Write the file even if a check fails; the commit records that.',
  });
});
