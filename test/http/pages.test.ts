import { createHash } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RefName, SessionId, TurnName } from '../../src/names.ts';
import { showTurn } from '../../src/workflow/review/show-turn.ts';
import { given } from '../support/given.ts';
import { secondPlan } from '../support/agent-plan-fixtures.ts';
import { openEvents } from '../support/event-client.ts';
import { claudePlanWaits } from '../support/followed-log.ts';
import { openTestServer, type Answer, type TestServer, type TestServerOptions } from '../support/http-server.ts';
import { type MemoryProject } from '../support/memory-repository.ts';
import { scriptedModel, type ScriptedModel } from '../support/scripted-model.ts';
import { command, create, edit, line, memos, planOf, say, session, start, storyOfLine } from '../support/turns.ts';

let server: TestServer;
let project: MemoryProject;
let cookie: string;

beforeEach(async () => {
  project = await given.session();
  await reopen();
});

afterEach(() => server.stop());

async function reopen(pages: TestServerOptions['pages'] = {}): Promise<void> {
  await server?.stop();
  server = await openTestServer({ project, pages, streamLimits: { lookMs: 10 } });
  cookie = await enter();
}

/** A model that gives these answers in turn. */
async function answering(...script: Parameters<typeof scriptedModel>): Promise<ScriptedModel> {
  const model = scriptedModel(...script);
  const choice = { provider: 'recorded' as const, name: model.model, parameters: {}, model };
  await reopen({ choose: async () => choice });
  return model;
}

/** Without the token, like a browser. */
function browse(method: string, path: string, body?: unknown, headers: OutgoingHttpHeaders = {}): Promise<Answer> {
  const origin = method === 'POST' ? { Origin: server.url } : {};
  return server.call(method, path, body, { Authorization: undefined, Cookie: cookie, ...origin, ...headers });
}

/** Begins an act, as the page does. */
const act = (kind: string, body: object, headers: OutgoingHttpHeaders = {}) =>
  browse('POST', `${page}/acts`, { kind, ...body }, headers);

const html = { Accept: 'text/html,*/*' };

async function link(body: object = {}): Promise<string> {
  const { body: answer } = await server.call('POST', '/api/page-links', body);
  return String(answer['link']).slice(server.url.length);
}

async function enter(): Promise<string> {
  const { headers } = await server.call('GET', await link(), undefined, { Authorization: undefined });
  return String(headers['set-cookie']?.[0]).split(';')[0] ?? '';
}

const page = `/sessions/${session}`;
const pending = async () => project.hash((await project.readAt(await project.tipOf(line), planPath)) ?? '');
const planPath = `.teddy/sessions/${session}/01/plan.md`;
const twoFiles = planOf([create('a.txt'), create('b.txt')]);

describe('getting in', () => {
  test('works once with a link, which leaves a cookie that no script and no other site can read', async () => {
    const path = await link({ session });
    const first = await server.call('GET', path, undefined, { Authorization: undefined });
    expect(first).toMatchObject({ status: 303, headers: { location: page, 'cache-control': 'no-store' } });
    const [set] = first.headers['set-cookie'] ?? [];
    expect(set).toMatch(new RegExp(`^teddy-${server.port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`));
    expect(first.text).toBe('');
    const again = await server.call('GET', path, undefined, { Authorization: undefined, ...html });
    expect(again).toMatchObject({ status: 401, headers: { 'content-type': 'text/html; charset=UTF-8' } });
    expect(again.text).toContain('<code>teddy view</code>');
    expect(again.headers['set-cookie']).toBeUndefined();
  });

  test('is refused with a wrong code, no code, or one that is more than a minute old', async () => {
    const old = await link();
    project.clock.now = () => new Date(Date.parse('2026-01-24T12:00:00Z'));
    for (const path of ['/open', '/open?code=', '/open?code=wrong', old])
      expect(await browse('GET', path)).toMatchObject({ status: 401, body: { code: 'CODE_REFUSED' } });
  });

  test('leaves a link valid after a HEAD request', async () => {
    const path = await link();
    expect(await browse('HEAD', path)).toMatchObject({ status: 200 });
    expect(await browse('GET', path)).toMatchObject({ status: 303 });
  });

  test('needs the token to make a link, and only to an existing page', async () => {
    expect(await browse('POST', '/api/page-links', {})).toMatchObject({ status: 401 });
    const unknown = await server.call('POST', '/api/page-links', { session: 'nothing' });
    expect(unknown).toMatchObject({ status: 404, body: { code: 'UNKNOWN_SESSION' } });
  });

  test('without the cookie shows a browser how to get in, and a program JSON', async () => {
    for (const path of ['/', page, `${page}/live`, '/nothing']) {
      const seen = await browse('GET', path, undefined, { Cookie: undefined, ...html });
      expect(seen).toMatchObject({ status: 401, headers: { 'content-type': 'text/html; charset=UTF-8' } });
      expect(seen.text).toContain('<code>teddy view</code>');
      expect(seen.text).not.toContain(session);
      expect(seen.headers['www-authenticate']).toBeUndefined();
      const told = await browse('GET', path, undefined, { Cookie: undefined });
      expect(told).toMatchObject({ status: 401, body: { code: 'TOKEN_REFUSED' } });
    }
  });

  test('is refused with a cookie that has another value, another name, or is from another server', async () => {
    const other = await openTestServer();
    try {
      const { headers } = await other
        .call('POST', '/api/page-links', {})
        .then(({ body }) => other.call('GET', String(body['link']).slice(other.url.length)));
      const foreign = String(headers['set-cookie']?.[0]).split(';')[0] ?? '';
      const [, value = ''] = cookie.split('=');
      const wrong = [foreign, `teddy-${server.port}=${foreign.split('=')[1]}`, `teddy=${value}`, `${cookie}x`, ''];
      for (const one of wrong)
        expect(await browse('GET', '/', undefined, { Cookie: one })).toMatchObject({ status: 401 });
      expect(await browse('GET', '/', undefined, { Cookie: `${foreign}; ${cookie}` })).toMatchObject({ status: 200 });
    } finally {
      await other.stop();
    }
  });

  test('is limited with the cookie to pages and events', async () => {
    const events = await openEvents(server, `/api/sessions/${session}/events`, { Authorization: '', Cookie: cookie });
    expect(events.status).toBe(200);
    events.close();
    for (const path of ['/api/sessions', '/openapi.json', `/api/sessions/${session}/history`])
      expect(await browse('GET', path)).toMatchObject({ status: 401 });
    expect(await browse('POST', `/api/sessions/${session}/entries`, [])).toMatchObject({ status: 401 });
  });

  test('needs the right host and origin, and an act needs its origin', async () => {
    const { port } = server;
    expect(await browse('GET', '/', undefined, { Host: `example.org:${port}` })).toMatchObject({ status: 403 });
    for (const origin of ['http://example.org', 'null', `http://127.0.0.1:${port + 1}`, undefined])
      expect(await act('say', { message: 'x' }, { Origin: origin })).toMatchObject({
        status: 403,
        body: { code: 'ORIGIN_REFUSED' },
      });
    expect(await storyOfLine(project)).toHaveLength(2);
  });

  test('is refused to a page on another port, though its browser sends the cookie; a link to here works', async () => {
    const from = (site: string, mode: string) => ({ 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': mode });
    for (const path of ['/', page, `${page}/live`])
      for (const site of ['same-site', 'cross-site'])
        expect(await browse('GET', path, undefined, from(site, 'no-cors'))).toMatchObject({
          status: 403,
          body: { code: 'ORIGIN_REFUSED' },
        });
    for (const headers of [from('same-site', 'navigate'), from('none', 'navigate'), from('same-origin', 'cors')])
      expect(await browse('GET', page, undefined, headers)).toMatchObject({ status: 200 });
  });

  test('leaves no code, cookie or token in the log', async () => {
    await browse('GET', await link());
    await browse('GET', page);
    const log = JSON.stringify(server.lines);
    expect(log).not.toContain('code=');
    expect(log).not.toContain(cookie.split('=')[1]);
    expect(log).not.toContain(server.token);
  });
});

describe('the pages', () => {
  test('have headers that let nothing in and nothing out', async () => {
    for (const path of ['/', page]) {
      const { headers, text } = await browse('GET', path);
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=UTF-8',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'same-origin',
        'cross-origin-opener-policy': 'same-origin',
      });
      const policy = String(headers['content-security-policy']);
      const hash = "'sha256-[\\w+/]{43}='";
      const form = path === '/' ? "'self'" : "'none'";
      expect(policy).toMatch(
        new RegExp(
          `^default-src 'none'; style-src ${hash} ${hash}; script-src ${hash} ${hash}; connect-src 'self'; frame-ancestors 'none'; form-action ${form}; base-uri 'none'$`,
        ),
      );
      // The page may use its own style sheets and scripts.
      for (const [, , own = ''] of text.matchAll(/<(style|script)>(.*?)<\/\1>/gs))
        expect(policy).toContain(`'sha256-${createHash('sha256').update(own).digest('base64')}'`);
    }
  });

  test('list the sessions, newest first, with their state and cost, and search without script', async () => {
    const second = await start(project, 'billing');
    await say(
      project,
      'Charge <b>twice</b>',
      scriptedModel({ texts: [twoFiles], usage: { inputTokens: 1200, outputTokens: 30 } }),
      {
        selector: second.session,
      },
    );
    const { text } = await browse('GET', '/');
    expect(text.indexOf('billing')).toBeLessThan(text.indexOf('add-login'));
    expect(text).toContain('pending plan');
    expect(text.indexOf('Waiting for you')).toBeLessThan(text.indexOf('Charge &lt;b&gt;twice'));
    expect(text).toContain('The plan waits until it is run, changed or refused.');
    expect(text).toContain('1,200 in, 30 out');
    // A row that the search omits is there, so that an emptied field brings it back without the server.
    const rowsOf = (html: string, isHidden: boolean) =>
      [...html.matchAll(/<li [^>]*data-state="[^"]*" ( ?hidden)?>.*?<small\s*>(.*?) ·/gs)].flatMap(
        ([, hidden, name]) => ((hidden !== undefined) === isHidden ? [name] : []),
      );
    const found = (await browse('GET', '/?q=LOGIN%20open')).text;
    expect([rowsOf(found, false), rowsOf(found, true)]).toEqual([[session], [second.session]]);
    expect(found).toContain(`href="${page}"`);
    expect(found).toContain('1 of 2 sessions');
    const waiting = (await browse('GET', '/?state=waiting')).text;
    expect([rowsOf(waiting, false), rowsOf(waiting, true)]).toEqual([[second.session], [session]]);
    const hostile = await browse('GET', '/?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E');
    expect(hostile.text).not.toContain('<script>alert');
  });

  test('show a session, and a single turn', async () => {
    await say(project, 'Make <script>alert(1)</script> files', twoFiles);
    const whole = await browse('GET', page);
    expect(whole.text).toContain('<a href="/">All sessions</a>');
    expect(whole.text).toContain('id="t01"');
    expect(whole.text).toContain('value="run"');
    expect(whole.text).toContain(`data-plan="${await pending()}"`);
    expect(whole.text).not.toContain('<script>alert');
    const turn = await browse('GET', `${page}/turns/01`);
    expect(turn.text).toMatch(/^<article class="turn \w+" id="t01" data-turn="01"/);
    const controls = await browse('GET', `${page}/controls`);
    expect(controls.text).toMatch(/^<div id="live-controls"/);
    expect(await browse('GET', `${page}/turns/07`)).toMatchObject({ status: 404, body: { code: 'UNKNOWN_TURN' } });
    const missing = await browse('GET', '/sessions/nothing', undefined, html);
    expect(missing).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=UTF-8' } });
    expect(missing.text).toContain('UNKNOWN_SESSION');
  });

  test('do not run a plan with a masked part, which would run unseen', async () => {
    await say(project, 'Run it', planOf([command('true; echo hunter2-hunter2')]));
    expect((await browse('GET', `${page}/controls`)).text).toContain('value="run"');
    project.secrets.set('hunter2-hunter2', 'password');
    await reopen();
    const { text } = await browse('GET', `${page}/controls`);
    expect((await browse('GET', page)).text).toContain('[masked: password]');
    expect(text).not.toContain('value="run"');
    expect(text).toContain('The page does not show the whole plan');
  });

  test('explain why a plan cannot be run from here', async () => {
    await say(project, 'Make files', twoFiles);
    await project.switchTo('main');
    const { text } = await browse('GET', `${page}/controls`);
    expect(text).not.toContain('value="run"');
    expect(text).toContain('is not checked out anywhere');
    expect(text).toMatch(/<code>git switch [^<]*<\/code>/);
    const answer = await act('run', { plan: await pending(), actions: [1] });
    expect(answer).toMatchObject({
      status: 409,
      body: { code: 'NOT_ON_LINE', hint: expect.stringContaining('--worktree') },
    });
  });
});

/** Everything that a page receives until an act is over. */
async function hear(until = 'done', headers: Record<string, string> = {}) {
  const client = await openEvents(server, `${page}/live`, { Authorization: '', Cookie: cookie, ...headers });
  const named = (name: string) => client.events.filter(({ event }) => event === name).map(({ data }) => data);
  return {
    ...client,
    named,
    wait: async (name = until, count = 1) => {
      await expect.poll(() => named(name).length).toBeGreaterThanOrEqual(count);
      return named(name);
    },
  };
}

describe('an act from a page', () => {
  test('that sends a message makes the same turn as the command, and the answer is streamed', async () => {
    await answering({ texts: [twoFiles.slice(0, 30), twoFiles.slice(30)] });
    const heard = await hear();
    expect(await act('say', { message: 'Make files' })).toMatchObject({ status: 202 });
    expect(await heard.wait()).toEqual([{ title: 'Turn 01: a plan with 2 actions.' }]);
    expect(
      heard
        .named('text')
        .map(({ text }) => text)
        .join(''),
    ).toBe(twoFiles);
    expect(heard.named('asked')).toMatchObject([{ turn: '01' }]);
    expect(await storyOfLine(project)).toEqual([expect.any(String), 'start', 'message 01', 'plan 01']);
    const states = await heard.wait('state', 2);
    expect(states.at(-1)).toMatchObject({ turns: [['01', expect.stringMatching(/^[0-9a-f]{12}$/)]] });
    heard.close();
  });

  test('that runs a plan runs only the ticked actions, and the report names the approver', async () => {
    await say(project, 'Make files', twoFiles);
    const heard = await hear();
    const { status } = await act('run', { plan: await pending(), actions: [2] });
    expect(status).toBe(202);
    expect(await heard.wait()).toEqual([{ title: 'Turn 01: SUCCESS' }]);
    expect([await project.read('a.txt'), await project.read('b.txt')]).toEqual([null, 'b.txt\n']);
    const report = await project.readAt(await project.tipOf(line), `.teddy/sessions/${session}/01/report.md`);
    expect(report).toContain('not selected');
    expect(report).toContain('approved_by: user');
    expect(heard.named('action')).toMatchObject([
      { index: 1, status: 'SKIPPED' },
      { index: 2, status: 'RUNNING', title: 'CREATE b.txt' },
      { index: 2, status: 'SUCCESS' },
    ]);
    heard.close();
  });

  test('that asks about the plan is answered in its turn, and the plan is run afterwards', async () => {
    const model = await answering('Since it is new.');
    await say(project, 'Make files', twoFiles);
    const plan = await pending();
    expect((await browse('GET', `${page}/controls`)).text).toContain('<b>Ask about it</b>');
    const heard = await hear();
    expect(await act('ask', { plan, message: 'Why a.txt?' })).toMatchObject({ status: 202 });
    expect(await heard.wait()).toEqual([{ title: 'Turn 01: answered.' }]);
    heard.close();
    expect(model.requests.at(-1)?.messages.at(-1)?.content).toMatch(/Why a\.txt\?$/);
    expect(await pending()).toBe(plan);
    const shown = (await browse('GET', `${page}/turns/01`)).text;
    expect(shown.indexOf('Since it is new.')).toBeGreaterThan(shown.indexOf('Why a.txt?'));
    expect(shown).not.toContain('mode: ask');
    expect((await act('run', { plan, actions: [1, 2] })).status).toBe(202);
  });

  test('neither runs nor refuses a plan that the page did not show', async () => {
    await answering('never asked');
    await say(project, 'Make files', twoFiles);
    const before = await project.tipOf(line);
    const plan = project.hash('another plan');
    for (const [path, body] of [
      ['run', { plan, actions: [1, 2] }],
      ['reject', { plan, message: 'no' }],
      ['approve', { plan }],
      ['instead', { plan, message: 'differently' }],
      ['ask', { plan, message: 'why?' }],
    ] as const) {
      const answer = await act(path, body);
      expect(answer).toMatchObject({
        status: 409,
        body: { code: 'PLAN_REPLACED', hint: expect.stringMatching(/^Nothing was done\..* the page shows now/) },
      });
    }
    expect(await project.tipOf(line)).toBe(before);
    expect(await project.read('a.txt')).toBeNull();
  });

  test.each([
    ['an unreadable action', '### CREATE\n- **File Path:** <a b>.txt\n\n```\na\n```\n', /File Path/],
    ['a FIND that misses', edit('README.md', 'Nothing of the kind', 'x'), /EDIT README\.md: FIND was not found/],
  ])('neither runs nor approves a plan with %s; the first choice is another plan', async (_of, bad, reason) => {
    await project.commit('Add a README', { 'README.md': 'Hello\n' });
    await say(project, 'Make files', planOf([bad, create('b.txt')]));
    const before = await project.tipOf(line);
    const { text } = await browse('GET', `${page}/controls`);
    expect(text.match(/(?<=name="act" value=")\w+/g)).toEqual(['instead', 'reject', 'ask']);
    expect(text).toContain('<b>Ask for a new plan</b>');
    expect(/<textarea[^>]*>([^<]*)/.exec(text)?.[1]).toMatch(reason);
    const refused = { status: 409, body: { code: 'VALIDATION_FAILED', error: expect.stringMatching(reason) } };
    expect(await act('run', { plan: await pending(), actions: null })).toMatchObject(refused);
    expect(await act('run', { plan: await pending(), actions: [2] })).toMatchObject(refused);
    expect(await act('approve', { plan: await pending() })).toMatchObject(refused);
    expect(await project.tipOf(line)).toBe(before);
    expect(await project.read('b.txt')).toBeNull();
  });

  test('is not offered for a plan that fits the commit but not the files in the work tree, and the page says why', async () => {
    await project.commit('Add a README', { 'README.md': 'Hello\n' });
    await say(project, 'Make files', planOf([edit('README.md', 'Hello', 'Bye')]));
    expect((await browse('GET', `${page}/controls`)).text).toContain('value="run"');
    await project.write({ 'README.md': 'Something else\n' });
    const { text } = await browse('GET', `${page}/controls`);
    expect(text).not.toContain('value="run"');
    expect(text).toContain('It would not run on the files in your work tree: EDIT README.md: FIND was not found');
    expect((await browse('GET', page)).text).toContain('-Hello');
    const answer = await act('run', { plan: await pending(), actions: null });
    expect(answer).toMatchObject({ status: 409, body: { code: 'VALIDATION_FAILED' } });
  });

  test('with an invalid body is refused by name', async () => {
    await say(project, 'Make files', twoFiles);
    const plan = await pending();
    const wrong: [string, object, number, string][] = [
      ['run', { plan }, 400, 'USAGE'],
      ['run', { plan: 'x', actions: [1] }, 400, 'USAGE'],
      ['run', { plan, actions: [] }, 400, 'USAGE'],
      ['run', { plan, actions: [7] }, 400, 'USAGE'],
      ['reject', { message: 'no' }, 400, 'USAGE'],
      ['dance', { plan }, 400, 'USAGE'],
      ['approve', { plan, comments: [{ line: 0, text: 'no' }] }, 400, 'USAGE'],
      ['say', { message: 'Something else' }, 409, 'PLAN_PENDING'],
    ];
    await reopen({ choose: async () => ({ provider: 'none', name: 'none', parameters: {}, model: null }) });
    for (const [path, body, status, code] of wrong)
      expect(await act(path, body)).toMatchObject({ status, body: { code } });
    expect(await browse('POST', `${page}/acts`, 'no JSON')).toMatchObject({
      status: 400,
      body: { code: 'MALFORMED_JSON' },
    });
    expect(await project.read('a.txt')).toBeNull();
  });

  test('that rejects closes the turn with the reason', async () => {
    await say(project, 'Make files', twoFiles);
    const heard = await hear();
    await act('reject', { plan: await pending(), message: 'not what I meant' });
    expect(await heard.wait()).toEqual([{ title: 'Turn 01: rejected; none of its actions ran.' }]);
    const report = await project.readAt(await project.tipOf(line), `.teddy/sessions/${session}/01/report.md`);
    expect(report).toContain('not what I meant');
    expect(await act('reject', { plan: project.hash('x'), message: '' })).toMatchObject({
      status: 409,
      body: { code: 'NO_PENDING_PLAN' },
    });
    heard.close();
  });

  test('that approves with comments is a verdict, and the plan still waits to be run', async () => {
    await say(project, 'Make files', twoFiles);
    const controls = async () => (await browse('GET', `${page}/controls`)).text;
    expect(await controls()).toContain('value="approve"');
    const heard = await hear();
    const comments = [{ line: 1, text: 'A better title?' }];
    await act('approve', { plan: await pending(), message: 'Go on.', comments });
    expect(await heard.wait()).toEqual([{ title: 'Turn 01: approved.' }]);
    expect(await showTurn(project, { selector: line, turn: '01' })).toMatchObject({
      status: 'planned',
      verdicts: [{ verdict: 'approved', text: 'Go on.', comments }],
    });
    expect((await browse('GET', page)).text).toContain(
      '<span class="remark"><b>Ada Example</b>: A better title?</span>',
    );
    expect(await controls()).toContain('value="run"');
    expect(await controls()).not.toContain('value="approve"');
    heard.close();
  });

  test('with only comments on lines rejects a plan, and closes its turn', async () => {
    await say(project, 'Make files', twoFiles);
    const body = { plan: await pending(), message: '', comments: [{ line: 3, text: 'Not here.' }] };
    expect(await act('reject', { ...body, comments: [] })).toMatchObject({
      status: 409,
      body: { code: 'EMPTY_MESSAGE' },
    });
    const odd = { ...body, comments: [{ line: 999, text: 'Where?' }] };
    expect(await act('reject', odd)).toMatchObject({ status: 400, body: { code: 'USAGE' } });
    expect(await act('reject', body)).toMatchObject({ status: 202 });
    const { status, report } = await showTurn(project, { selector: line, turn: '01' });
    expect([status, report?.run_summary.error]).toEqual(['closed', expect.stringContaining('line 3: Not here.')]);
  });

  test('gives a verdict on another agent’s plan', async () => {
    const { session: captured } = await claudePlanWaits(project);
    const at = `/sessions/${captured}`;
    const { text } = await browse('GET', `${at}/controls`);
    expect(text.match(/name="act" value="\w+"/g)).toEqual(
      ['approve', 'reject'].map((one) => `name="act" value="${one}"`),
    );
    expect(text).not.toContain('value="run"');
    const comments = [{ line: 4, text: 'Which tests?' }];
    const other = { kind: 'reject', plan: project.hash('another plan'), message: '', comments };
    expect(await browse('POST', `${at}/acts`, other)).toMatchObject({ status: 409, body: { code: 'PLAN_REPLACED' } });
    const answer = await browse('POST', `${at}/acts`, { ...other, plan: project.hash(secondPlan) });
    expect(answer).toMatchObject({ status: 202 });
    await expect
      .poll(async () => (await showTurn(project, { selector: captured })).verdicts)
      .toMatchObject([{ verdict: 'rejected', turn: '02', text: null, comments }]);
    expect((await browse('GET', `${at}/controls`)).text).not.toContain('value="reject"');
    expect((await browse('GET', at)).text).toContain('<span class="pill warn">rejected</span>');
  });

  test('that asks for another plan refuses the current one with the message, and a new one appears', async () => {
    await answering(planOf([create('c.txt')]));
    await say(project, 'Make files', twoFiles);
    const heard = await hear();
    await act('instead', { plan: await pending(), message: 'Only c.txt' });
    expect(await heard.wait()).toEqual([{ title: 'Turn 02: a plan with 1 action.' }]);
    expect((await storyOfLine(project)).slice(-3)).toEqual(['report 01', 'message 02', 'plan 02']);
    heard.close();
  });

  test('without a model keeps the message, and the page shows the missing setting', async () => {
    const { TeddyError } = await import('../../src/errors.ts');
    const missing = new TeddyError('NO_MODEL', 'No model is set.', 'Set one.');
    await reopen({ choose: async () => ({ provider: 'none', name: 'none', parameters: {}, model: null, missing }) });
    const answer = await act('say', { message: 'Make files' });
    expect(answer.body).toMatchObject({
      code: 'NO_MODEL',
      error: 'No model is set.',
      hint: expect.stringMatching(/^Set one\. .*“Ask again”/),
    });
    expect((await storyOfLine(project)).at(-1)).toBe('message 01');
    await answering(twoFiles);
    const heard = await hear();
    expect(await act('say', {})).toMatchObject({ status: 202 });
    await heard.wait();
    expect((await storyOfLine(project)).at(-1)).toBe('plan 01');
    heard.close();
  });

  test('runs alone; stopping it ends a run like Ctrl-C, and a page that comes late sees all of it', async () => {
    await say(project, 'Run it', planOf([create('a.txt'), command('sleep'), create('b.txt')]));
    project.command.run = (_script, signal, onOutput) =>
      new Promise((resolve) => {
        onOutput?.('stdout', 'working\n');
        signal.addEventListener('abort', () => resolve({ ended: 'aborted' } as never));
      });
    expect(await act('run', { plan: await pending(), actions: [1, 2, 3] })).toMatchObject({
      status: 202,
    });
    const refused = await act('say', { message: 'more' });
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'LOCKED', hint: expect.stringContaining('with Stop') },
    });
    const late = await hear();
    await late.wait('output');
    expect(late.named('act')).toEqual([{ kind: 'run', title: 'Running ...' }]);
    expect(late.named('output')).toMatchObject([{ index: 2, stream: 'stdout', text: 'working\n' }]);
    expect(await browse('POST', `${page}/stop`, {})).toMatchObject({ status: 200, body: { stopped: true } });
    expect(await late.wait()).toMatchObject([{ title: expect.stringContaining('ABORTED') }]);
    expect(await project.read('b.txt')).toBeNull();
    expect((await storyOfLine(project)).at(-1)).toBe('report 01');
    expect(await browse('POST', `${page}/stop`, {})).toMatchObject({ body: { stopped: false } });
    late.close();
  });

  test('whose action asks is answered in the page, and memos wait for a yes', async () => {
    const ask = '### CHAT_WITH_USER\n\nWhich colour?\n';
    await say(project, 'Ask me', planOf([ask], memos('[+] We use tabs.')));
    const heard = await hear();
    await act('run', { plan: await pending(), actions: [1] });
    const [first] = await heard.wait('question');
    expect(first).toMatchObject({ kind: 'confirm', text: '[+] We use tabs.' });
    expect(await browse('POST', `${page}/answer`, { question: Number(first?.['id']) + 1, text: 'yes' })).toMatchObject({
      body: { taken: false },
    });
    await browse('POST', `${page}/answer`, { question: first?.['id'], text: 'yes' });
    const [, second] = await heard.wait('question', 2);
    expect(second).toMatchObject({ kind: 'text', text: expect.stringContaining('Which colour?') });
    await browse('POST', `${page}/answer`, { question: second?.['id'], text: 'blue' });
    expect(await heard.wait()).toEqual([{ title: 'Turn 01: SUCCESS' }]);
    const report = await project.readAt(await project.tipOf(line), `.teddy/sessions/${session}/01/report.md`);
    expect(report).toContain('blue');
    expect(report).toContain('We use tabs.');
    heard.close();
  });

  test('that waits for a page does not hold up a program, which learns that a plan is being executed', async () => {
    await say(project, 'Ask me', planOf([create('first.txt'), '### CHAT_WITH_USER\n\nWhich colour?\n']));
    const heard = await hear();
    await act('run', { plan: await pending(), actions: [1, 2] });
    const [question] = await heard.wait('question');
    await expect(server.begin('notes.md')).rejects.toThrow(/^begin: 409 .*"code":"LOCKED"/);
    await browse('POST', `${page}/answer`, { question: question?.['id'], text: 'blue' });
    expect(await heard.wait()).toEqual([{ title: 'Turn 01: SUCCESS' }]);
    heard.close();
  });

  test('shows lists from elsewhere first, and a no sends nothing', async () => {
    const model = await answering(twoFiles);
    project.configuration.set('remote.origin.url', 'https://example.org/x.git');
    project.trusted.clear();
    await project.commit('Show the key', { [`.teddy/sessions/${session}/session.context`]: 'secret.txt\n' });
    project.trusted.clear();
    const heard = await hear();
    const asked = act('say', { message: 'Make files' });
    const [question] = await heard.wait('question');
    expect(question).toMatchObject({ kind: 'confirm', text: expect.stringContaining('secret.txt') });
    await browse('POST', `${page}/answer`, { question: question?.['id'], text: 'no' });
    expect(await asked).toMatchObject({
      body: { code: 'NOT_APPROVED', hint: expect.stringContaining('teddy global trust') },
    });
    expect(model.requests).toEqual([]);
    heard.close();
  });

  test('with long output shows a late page the end, and the length of the rest', async () => {
    await say(project, 'Run it', planOf([command('talk')]));
    const [lines, length] = [20_000, 100];
    project.command.run = (_script, signal, onOutput) =>
      new Promise((resolve) => {
        for (let at = 0; at < lines; at += 1) onOutput?.('stdout', `${at}`.padStart(length - 1, '.') + '\n');
        signal.addEventListener('abort', () => resolve({ ended: 'aborted' } as never));
      });
    await act('run', { plan: await pending(), actions: [1] });
    const first = await hear();
    const said = (of: typeof first) => of.named('output').map((data) => (data as { text: string }).text);
    const waitForAll = (of: typeof first) => expect.poll(() => said(of).at(-1)).toMatch(/\.19999\n$/);
    await waitForAll(first);
    first.close();
    const late = await hear();
    await waitForAll(late);
    const size = said(late).join('').length;
    expect(size).toBeLessThanOrEqual(1024 * 1024);
    expect(size).toBeGreaterThan(1024 * 1024 - 2 * (said(late)[0]?.length ?? 0));
    expect(late.named('cut')).toEqual([{ count: expect.any(Number) }]);
    await browse('POST', `${page}/stop`, {});
    await late.wait();
    late.close();
  });

  test('has secrets masked before a page sees them', async () => {
    project.secrets.set('hunter2-hunter2', 'password');
    await answering({ texts: ['The key is hunter2', '-hunter2.\n'] });
    const heard = await hear();
    await act('say', { message: 'Tell' });
    await heard.wait();
    expect(heard.text()).not.toContain('hunter2');
    expect(heard.text()).toContain('[masked: password]');
    heard.close();
  });
});

describe('live updates', () => {
  test('show another process’s commits, even after the page has reconnected', async () => {
    const heard = await hear();
    await heard.wait('state');
    await say(project, 'Make files', twoFiles);
    await heard.wait('state', 2);
    heard.close();
    await say(project, undefined, null).catch(() => undefined);
    const again = await hear();
    const [state] = await again.wait('state');
    expect(state).toMatchObject({ turns: [['01', expect.any(String)]] });
    expect(again.named('idle')).toHaveLength(1);
    again.close();
  });

  test('show an answer that arrives in a terminal line by line, without its secrets', async () => {
    project.secrets.set('hunter2-hunter2', 'password');
    const place = {
      id: '019bf000-0000-7000-8000-000000000001',
      session: session as SessionId,
      turn: '01' as TurnName,
      ref: `refs/heads/${line}` as RefName,
      recordCount: 1,
      provider: 'x',
      model: 'gpt-test',
      agent: 'dev',
    };
    const staged = { place, text: 'One\nThe key is hunter2', isAlive: true, isElsewhere: true };
    project.staged.push(staged);
    const heard = await hear();
    await heard.wait('elsewhere', 2);
    staged.text += '-hunter2.\n';
    await heard.wait('elsewhere', 3);
    project.staged.length = 0;
    expect(await heard.wait('elsewhere', 4)).toEqual([
      { id: place.id, turn: '01', title: 'Turn 01: gpt-test is answering dev in another process' },
      { id: place.id, text: 'One\n' },
      { id: place.id, text: 'The key is [masked: password].\n' },
      { id: place.id, isOver: true },
    ]);
    heard.close();
  });

  test('do not wait for a question that no page shows', async () => {
    await say(project, 'Ask me', planOf(['### CHAT_WITH_USER\n\nWhich colour?\n']));
    const { pageActs } = await import('../../src/http/page-acts.ts');
    const tools = { open: async () => project, choose: () => Promise.reject(new Error('Nobody is asked.')) };
    const options = { tools, onEnd: () => undefined, onEvent: () => undefined };
    const acts = pageActs({ ...options, onDefect: () => undefined, absentMs: 5 });
    await acts.begin({ session, line }, { kind: 'run', plan: await pending(), actions: [1] }, 'person');
    await expect.poll(() => acts.find(session)?.isOver).toBe(true);
    expect((await storyOfLine(project)).at(-1)).toBe('report 01');
  });
});

describe('an approval', () => {
  const refused = { status: 403, body: { code: 'AGENT_MAY_NOT_APPROVE' } };
  const approve = async (send: typeof browse) =>
    send('POST', `${page}/acts`, { kind: 'approve', plan: await pending() });
  const withToken: typeof browse = (method, path, body) => server.call(method, path, body);

  beforeEach(async () => {
    await say(project, 'Do it', twoFiles);
  });

  test('cannot be given with the token: neither directly nor by running the plan', async () => {
    project.configuration.set('teddy.approvals', '1');
    expect(await approve(withToken)).toMatchObject(refused);
    await withToken('POST', `${page}/acts`, { kind: 'run', plan: await pending(), actions: null });
    expect((await storyOfLine(project)).at(-1)).toBe('plan 01');
    const reject = { plan: await pending(), message: 'No.' };
    expect(await withToken('POST', `${page}/acts`, { kind: 'reject', ...reject })).toMatchObject({ status: 202 });
  });

  test('cannot be given through a link that an agent’s program has requested', async () => {
    project.agent.behind = { seen: 'Codex started this: CODEX_CI is set.', pid: null };
    const { body } = await server.call('POST', '/api/page-links', { session });
    expect(body).toMatchObject({ mayApprove: false });
    cookie = await enter();
    expect(await browse('GET', page)).toMatchObject({ status: 200 });
    expect(await approve(browse)).toMatchObject(refused);
  });

  test('can be given from the page in the browser that the server opened, even if an agent has started the server', async () => {
    const opened: string[] = [];
    await reopen({ openBrowser: async (url) => opened.push(url) > 0 });
    project.agent.trace = { seen: 'Codex started this: CODEX_CI is set.', pid: null };
    project.agent.behind = project.agent.trace;
    const answer = await server.call('POST', '/api/page-openings', { session });
    expect(answer).toMatchObject({ status: 200, body: { opened: true } });
    const [url = ''] = opened;
    const code = new URL(url).searchParams.get('code') ?? 'none';
    expect(`${answer.text}${JSON.stringify(server.lines)}`).not.toContain(code);
    const { headers } = await server.call('GET', url.slice(server.url.length), undefined, { Authorization: undefined });
    cookie = String(headers['set-cookie']?.[0]).split(';')[0] ?? '';
    expect(await approve(browse)).toMatchObject({ status: 202 });
    expect(await storyOfLine(project)).toContain('approval 01');
  });
});
