/** Codex before its logs named the place of a fork: a fork's log repeats the lines of its origin. */
import { describe, expect } from 'vitest';
import type { LogPosition } from '../../../src/ports/agent-logs.ts';
import {
  advance,
  openFollower,
  settle,
  type Follower,
  type FollowOptions,
} from '../../../src/workflow/capture/follow-log.ts';
import { countAllCosts } from '../../../src/workflow/review/count-all-costs.ts';
import { faultsOf, linesOf, textsOf } from '../../support/followed-log.ts';
import { memoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

type Line = { type: string; payload: Record<string, unknown>; ids?: string[] };

const options: FollowOptions = { cwd: null, isOurs: async () => true, isLeftOut: () => false };
const pathOf = (id: string) => `/home/user/.codex/sessions/2026/01/24/rollout-2026-01-24T10-00-00-${id}.jsonl`;
const item = (payload: Record<string, unknown>): Line => ({ type: 'response_item', payload });
const event = (payload: Record<string, unknown>): Line => ({ type: 'event_msg', payload });
const said = (role: string, text: string) => item({ type: 'message', role, content: [{ type: 'text', text }] });

let calls = 0;
/** A question, a call with its result, and an answer; each of the two model steps used ten tokens. */
function turn(name: string): Line[] {
  calls += 1;
  const call_id = `call_${calls}`;
  const used = { type: 'token_usage_record', payload: { usage: { input_tokens: 10, output_tokens: 0 } } };
  return [
    { type: 'turn_context', payload: { cwd: '/project', model: 'gpt-5' } },
    said('user', `ask ${name}`),
    event({ type: 'user_message', message: `ask ${name}` }),
    item({ type: 'reasoning', summary: [{ type: 'summary_text', text: `think ${name}` }], encrypted_content: 'x' }),
    item({ type: 'function_call', name: 'shell', arguments: `{"command":["run ${name}"]}`, call_id }),
    item({ type: 'function_call_output', call_id, output: `out ${name}` }),
    used,
    said('assistant', `say ${name}`),
    event({ type: 'token_count', info: null }),
    used,
  ];
}

type Signs = 'forked_from_id' | 'second session_meta' | 'both' | 'none';
type Ids = 'new' | 'equal' | 'absent';

/** The lines of a session, preceded by those of its origin, as that version of Codex copied them. */
class Session {
  readonly id: string;
  readonly lines: Line[];
  constructor(id: string, copied: Line[] = [], { from = '', signs = 'both' as Signs } = {}) {
    this.id = id;
    const named = from !== '' && (signs === 'forked_from_id' || signs === 'both') ? { forked_from_id: from } : {};
    const meta = { type: 'session_meta', payload: { id, cwd: '/project', cli_version: '0.80.0', ...named } };
    const isMeta = ({ type }: Line) => type === 'session_meta';
    this.lines = [meta, ...copied.filter((line) => !isMeta(line) || signs === 'both' || signs.startsWith('second'))];
  }
  ask(...names: string[]): this {
    this.lines.push(...names.flatMap(turn));
    return this;
  }
  /** A fork's log, copied when this session had this many turns. */
  fork(id: string, turns = Number.POSITIVE_INFINITY, signs: Signs = 'both'): Session {
    const starts = this.lines.flatMap(({ type }, at) => (type === 'turn_context' ? [at] : []));
    return new Session(id, this.lines.slice(0, starts[turns] ?? this.lines.length), { from: this.id, signs });
  }
  /** Each log has its own times, even for the lines that it repeats. */
  text(ids: Ids = 'absent'): string {
    const minute = this.id.length.toString().padStart(2, '0');
    return this.lines
      .map(({ type, payload }, at) => {
        const own = ids === 'equal' ? JSON.stringify(payload).length + at - this.metas(at) : `${this.id}-${at}`;
        const id = type === 'response_item' && ids !== 'absent' ? { id: `it_${own}` } : {};
        const timestamp = new Date(Date.parse(`2026-01-24T10:${minute}:00.000Z`) + at).toISOString();
        return `${JSON.stringify({ timestamp, type, payload: { ...payload, ...id } })}\n`;
      })
      .join('');
  }
  private metas(before: number): number {
    return this.lines.slice(0, before).filter(({ type }) => type === 'session_meta').length;
  }
}

async function open() {
  const project = await memoryProject();
  const capture = memoryCapture('codex');
  const follow = (id: string) => openFollower(project, capture, { agent: 'codex', path: pathOf(id) }, options);
  const take = async (session: Session, ids?: Ids): Promise<Follower> => {
    capture.files.set(pathOf(session.id), session.text(ids));
    const follower = await follow(session.id);
    await advance(follower);
    await settle(follower);
    return follower;
  };
  return { project, capture, follow, take };
}

const main = 'teddy/20260124-codex-ask-a';

/** The turns of each line; every turn was asked, done and answered once, and cost twenty tokens. */
async function expectLines(project: MemoryProject, expected: Record<string, string>, tokens: number): Promise<void> {
  const found: Record<string, string> = {};
  for (const line of await linesOf(project)) {
    const texts = Object.values(await textsOf(project, line));
    found[line.replace(main, 'main')] = texts.map(([first = '']) => first.replace('ask ', '')).join(' ');
    for (const [first = '', ...rest] of texts) expect(rest, line).toEqual([first.replace('ask', 'say')]);
  }
  expect(found).toEqual(expected);
  expect(await faultsOf(project)).toEqual([]);
  expect((await countAllCosts(project)).total).toMatchObject({ inputTokens: tokens });
}

const forms = (['forked_from_id', 'second session_meta', 'both'] as const).flatMap((signs) =>
  (['absent', 'new', 'equal'] as const).map((ids) => ({ signs, ids })),
);

describe.each(forms)('a fork that $signs shows, with $ids ids', ({ signs, ids }) => {
  test('of the whole conversation is a branch after it', async () => {
    const { project, take } = await open();
    const origin = new Session('p').ask('a', 'b');
    await take(origin, ids);
    await take(origin.fork('ff', 2, signs).ask('c'), ids);
    await expectLines(project, { main: 'a b', 'main--03-branch-01': 'a b c' }, 60);
  });

  test('of its beginning is a branch at that point, while both continue', async () => {
    const { project, take } = await open();
    const origin = new Session('p').ask('a', 'b');
    const fork = origin.fork('ff', 1, signs).ask('c');
    await take(origin, ids);
    await take(fork, ids);
    await take(origin.ask('d'), ids);
    await take(fork.ask('e'), ids);
    await expectLines(project, { main: 'a b d', 'main--02-branch-01': 'a c e' }, 100);
  });

  test('of a fork is a branch of that fork, or of the first session, at the point where it leaves', async () => {
    const { project, take } = await open();
    const origin = new Session('p').ask('a', 'b');
    const fork = origin.fork('ff', 1, signs).ask('c', 'd');
    for (const one of [origin, fork, fork.fork('ggg', 2, signs).ask('e'), fork.fork('hhhh', 1, signs).ask('f')])
      await take(one, ids);
    const branches = { 'main--02-branch-01': 'a c d', 'main--02-branch-02': 'a f', 'main--03-branch-01': 'a c e' };
    await expectLines(project, { main: 'a b', ...branches }, 120);
  });

  test('that is read before its origin is complete, and the origin becomes a branch of it', async () => {
    const { project, take } = await open();
    const origin = new Session('p').ask('a', 'b');
    await take(origin.fork('ff', 1, signs).ask('c'), ids);
    await expectLines(project, { main: 'a c' }, 40);
    await take(origin, ids);
    await take(origin.ask('d'), ids);
    await expectLines(project, { main: 'a c', 'main--02-branch-01': 'a b d' }, 80);
  });

  test('is complete if nobody has followed its origin, and shares the common turns with another fork', async () => {
    const { project, take } = await open();
    const origin = new Session('p').ask('a', 'b');
    await take(origin.fork('ff', 2, signs).ask('c'), ids);
    await take(origin.fork('ggg', 1, signs).ask('d'), ids);
    await expectLines(project, { main: 'a b c', 'main--02-branch-01': 'a d' }, 80);
  });

  test('without turns of its own has no line yet, and gets one as it grows', async () => {
    const { project, take } = await open();
    const origin = new Session('p').ask('a', 'b');
    const fork = origin.fork('ff', 1, signs);
    await take(origin, ids);
    const follower = await take(fork, ids);
    expect(follower.state.log).toMatchObject({ session: null, checkpoint: null, isWhole: false });
    await expectLines(project, { main: 'a b' }, 40);
    await take(fork.ask('c'), ids);
    await expectLines(project, { main: 'a b', 'main--02-branch-01': 'a c' }, 60);
  });

  test('that is read line by line as it grows has only its own turns', async () => {
    const { project, capture, follow, take } = await open();
    const origin = new Session('p').ask('a', 'b');
    await take(origin, ids);
    const follower = await follow('ff');
    const lines = origin
      .fork('ff', 1, signs)
      .ask('c', 'd')
      .text(ids)
      .split(/(?<=\n)/);
    for (let at = 1; at <= lines.length; at += 1) {
      capture.files.set(pathOf('ff'), lines.slice(0, at).join(''));
      await advance(follower);
    }
    await settle(follower);
    await expectLines(project, { main: 'a b', 'main--02-branch-01': 'a c d' }, 80);
  });

  test('whose log is reread from the start has nothing twice, even if its origin no longer exists', async () => {
    const { project, capture, take } = await open();
    const origin = new Session('p').ask('a', 'b');
    const fork = origin.fork('ff', 2, signs).ask('c');
    await take(origin, ids);
    await take(fork, ids);
    capture.saved.delete(pathOf('ff'));
    await take(fork.ask('d'), ids);
    await take(origin.fork('ff', 2, signs), ids);
    await take(fork, ids);
    capture.files.delete(pathOf('p'));
    const known = capture.saved.get(pathOf('ff')) ?? {};
    const position = { ...(known['position'] as LogPosition), tail: { length: 1, sha256: 'another file' } };
    capture.saved.set(pathOf('ff'), { ...known, position });
    await take(fork.ask('e'), ids);
    await expectLines(project, { main: 'a b', 'main--03-branch-01': 'a b c d e' }, 100);
  });

  test('leaves out the turns from a pause, as its origin does', async () => {
    const { project, capture, take } = await open();
    const origin = new Session('p').ask('a', 'b');
    capture.files.set(pathOf('p'), origin.text(ids));
    const isLeftOut = (time: unknown) => String(time) >= '2026-01-24T10:01:00.011Z';
    const paused = await openFollower(
      project,
      capture,
      { agent: 'codex', path: pathOf('p') },
      { ...options, isLeftOut },
    );
    await settle(paused);
    await take(origin.fork('ff', 2, signs).ask('c'), ids);
    await expectLines(project, { main: 'a', 'main--02-branch-01': 'a c' }, 40);
  });
});

slowTest('a fork of a conversation that exceeds the read window has only its own turns', async () => {
  const { project, take } = await open();
  const origin = new Session('p').ask('a');
  for (let count = 0; count < 600; count += 1) origin.lines.push(said('assistant', `${count}`));
  await take(origin.ask('b'));
  await take(origin.fork('ff').ask('c'));
  expect(await linesOf(project)).toEqual([main, `${main}--03-branch-01`]);
  expect((await countAllCosts(project)).total).toMatchObject({ inputTokens: 60 });
});

test('a fork in the middle of a turn repeats that turn on its branch, and counts only its own tokens', async () => {
  const { project, take } = await open();
  const origin = new Session('p').ask('a', 'b');
  await take(origin);
  const fork = origin.fork('ff');
  fork.lines.splice(-3, 3, said('assistant', 'say otherwise'));
  await take(fork);
  expect(await textsOf(project, `${main}--02-branch-01`)).toMatchObject({ '02-branch-01': ['ask b', 'say otherwise'] });
  expect((await countAllCosts(project)).total).toMatchObject({ inputTokens: 40 });
});

test('two sessions that merely begin with the same words stay separate', async () => {
  const { project, take } = await open();
  const origin = new Session('p').ask('a', 'b');
  await take(origin);
  await take(origin.fork('ff', 2, 'none').ask('c'));
  await expectLines(project, { main: 'a b', 'main-2': 'a b c' }, 100);
});
