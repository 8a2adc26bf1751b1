import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { receiveContent, type ReceiveOptions } from '../../../src/workflow/writes/receive-content.ts';
import { writeLimits, type Limits } from '../../../src/session/settings/write-limits.ts';
import { openWrite } from '../../../src/write/step.ts';
import type { WriteState } from '../../../src/write/write.ts';
import { expectLinear } from '../../support/growth.ts';
import { runs } from '../../support/runs.ts';
import { propertyTest, quickTest as test, slowTest } from '../../support/slow-test.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const lines = (count: number) => 'a line\n'.repeat(count);
const full = () => new TeddyError('DISK_FULL', 'The disk is full.');

/** A source that emits a test's input at the same time. */
function openSource() {
  const pieces: (Uint8Array | null | Error)[] = [];
  let wake: (() => void) | null = null;
  const push = (piece: Uint8Array | null | Error) => {
    pieces.push(piece);
    wake?.();
  };
  const counts = { taken: 0, isReturned: false };
  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const piece = pieces.shift();
        if (piece === undefined) {
          await new Promise<void>((resolve) => (wake = resolve));
        } else if (piece === null) {
          return;
        } else if (piece instanceof Error) {
          throw piece;
        } else {
          counts.taken += 1;
          yield piece;
        }
      }
    } finally {
      counts.isReturned = true;
    }
  }
  return { bytes: read(), counts, send: (text: string) => push(encode(text)), end: () => push(null), fail: push };
}

/** Saves and prompts in their order, and all messages. */
function watch(
  source: AsyncIterable<Uint8Array>,
  options: Partial<ReceiveOptions> & { limits?: Partial<Limits> } = {},
) {
  const log: string[] = [];
  const said: string[] = [];
  const states: WriteState[] = [];
  const controller = new AbortController();
  const disk = { error: null as Error | null, delayMs: 0, isBusy: false, saved: '' };
  const clock = { now: () => new Date() };
  const sink: ReceiveOptions['sink'] = {
    async save(bytes, state) {
      expect(disk.isBusy).toBe(false);
      disk.isBusy = true;
      if (disk.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, disk.delayMs));
      disk.isBusy = false;
      log.push(`${disk.error === null ? 'save' : 'fail'} ${bytes.length}`);
      if (disk.error !== null) throw disk.error;
      disk.saved += decode(bytes);
      states.push(state);
    },
  };
  const { limits, ...rest } = options;
  const received = receiveContent(source, {
    write: openWrite({ ...writeLimits, ...limits }, Date.now()),
    marker: 'DONE',
    isMarkdown: false,
    isAnswer: false,
    clock,
    signal: controller.signal,
    notices: { info: (text) => said.push(`info: ${text}`), warn: (text) => said.push(`warning: ${text}`) },
    sink,
    onPrompt: () => log.push('prompt'),
    ...rest,
  });
  const outcome = received.then(
    (value) => ({ ...value, text: decode(value.content), rest: decode(value.trailing), error: null }),
    (error: unknown) => ({ error: error as TeddyError }),
  );
  return { log, said, states, disk, outcome, abort: () => controller.abort() };
}

async function* of(...texts: string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield encode(text);
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('content that arrives all together', () => {
  test('ends with its marker, and is saved as a whole', async () => {
    const { outcome, log, disk, states } = watch(of('a\nb', '\nDO', 'NE\nrest'));
    expect(await outcome).toMatchObject({ text: 'a\nb\n', rest: 'rest', isDone: true, isSaved: true });
    expect([log, disk.saved]).toEqual([['save 4'], 'a\nb\n']);
    expect(states[0]).toMatchObject({ phase: 'receiving', size: 4 });
  });

  test('without a marker is saved with its last line, and is not done', async () => {
    const { outcome, disk } = watch(of('a\nDON'));
    expect(await outcome).toMatchObject({ text: 'a\nDON', isDone: false, isSaved: true });
    expect(disk.saved).toBe('a\nDON');
  });

  test('is done with a marker in its last line, unless it was cut there', async () => {
    expect(await watch(of('a\nDONE')).outcome).toMatchObject({ text: 'a\n', isDone: true });
    expect(await watch(of('a\nDONE'), { isCut: () => true }).outcome).toMatchObject({ text: 'a\nDONE', isDone: false });
    expect(await watch(of('a\nDONE'), { isCut: () => false }).outcome).toMatchObject({ text: 'a\n', isDone: true });
  });

  test('that is empty is saved nowhere', async () => {
    const { outcome, log } = watch(of('DONE\n'));
    expect(await outcome).toMatchObject({ text: '', isDone: true, isSaved: true });
    expect(log).toEqual([]);
  });

  test('has no trailing text if only white space follows', async () => {
    expect(await watch(of('a\nDONE\n\n \t\r\n')).outcome).toMatchObject({ rest: '', isDone: true });
  });

  test('from a stream is read no further than the piece with the marker, and the stream stays open', async () => {
    const source = openSource();
    const { outcome } = watch(source.bytes);
    source.send('a\nDONE\nx');
    source.send('more');
    expect(await outcome).toMatchObject({ rest: 'x' });
    expect(source.counts).toEqual({ taken: 1, isReturned: false });
    const second = watch(source.bytes);
    source.end();
    expect(await second.outcome).toMatchObject({ text: 'more', isDone: false });
  });

  test('from an answer is read to its end, and text after the marker is trailing', async () => {
    const { outcome } = watch(of('a\nDONE\nx', 'y\nDONE\n', 'z'), { isAnswer: true });
    expect(await outcome).toMatchObject({ text: 'a\n', rest: 'xy\nDONE\nz', isDone: true });
  });

  test('keeps no more trailing text than the content limit', async () => {
    const { outcome } = watch(of('a\nDONE\n12', '345678', '9'), { isAnswer: true, limits: { maxBytes: 5 } });
    expect(await outcome).toMatchObject({ text: 'a\n', rest: '12345' });
  });

  test('is done even if the answer breaks off after the marker, which is reported', async () => {
    const source = openSource();
    const { outcome, said } = watch(source.bytes, { isAnswer: true });
    source.send('a\nDONE\n');
    source.send('x');
    source.fail(new Error('connection reset'));
    expect(await outcome).toMatchObject({ text: 'a\n', rest: 'x', isDone: true, isSaved: true });
    expect(said).toEqual(['warning: The answer broke off after its end marker: connection reset']);
  });

  test('continues at the end of a saved one', async () => {
    const before = encode('```\nold\n');
    const write = openWrite(writeLimits, Date.now(), {
      ...openWrite(writeLimits, Date.now()).state,
      phase: 'receiving',
      size: before.length,
    });
    const { outcome, log, states } = watch(of('DONE\n', 'new\n```\nDONE\n'), { write, before, isMarkdown: true });
    expect(await outcome).toMatchObject({ text: '```\nold\nDONE\nnew\n```\n', isDone: true, isSaved: true });
    expect([log, states[0]?.size]).toEqual([['save 13'], 21]);
  });

  propertyTest('is the same however it is cut, and equals the saved content', async () => {
    const text = '# T\n```\nDONE\n\n```\nend é\n\nDONE \r\nrest\n';
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(text.length), { maxLength: 8 }), fc.boolean(), async (cuts, isAnswer) => {
        const bytes = encode(text);
        const places = [0, ...cuts, bytes.length].toSorted((a, b) => a - b);
        async function* pieces() {
          for (let at = 1; at < places.length; at += 1) yield bytes.slice(places[at - 1], places[at]);
        }
        const { outcome, disk } = watch(pieces(), { isAnswer, isMarkdown: true });
        const content = '# T\n```\nDONE\n\n```\nend é\n\n';
        expect(await outcome).toMatchObject({ text: content, isDone: true, ...(isAnswer ? { rest: 'rest\n' } : {}) });
        expect(disk.saved).toBe(content);
      }),
      runs(100),
    );
  });

  slowTest('of 10 MiB in pieces of 64 KiB takes four times as long as a quarter of it', async () => {
    const piece = encode('const value = compute(input);\n'.repeat(2185));
    async function* piecesOf(count: number) {
      for (let at = 0; at < count; at += 1) yield piece;
      yield encode('DONE\n');
    }
    const receive = async (count: number) => {
      const result = await receiveContent(piecesOf(count), {
        write: openWrite(writeLimits, Date.now()),
        marker: 'DONE',
        isMarkdown: true,
        isAnswer: false,
        clock: { now: () => new Date() },
        signal: new AbortController().signal,
        notices: { info: () => {}, warn: () => {} },
        sink: { save: async () => {} },
        onPrompt: () => {},
      });
      expect([result.isDone, result.content.length]).toEqual([true, count * piece.length]);
    };
    await expectLinear(159, (count) => count, receive);
  });
});

describe('content that arrives slowly', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test.each([
    ['the next save', {}, 1900],
    ['a silent writer’s prompt', { idlePromptMs: 2000 }, 1900],
    ['nothing', {}, 10],
  ])('that is done is read on until the stream is silent, even if %s is due by then', async (_due, limits, atMs) => {
    const source = openSource();
    const { outcome } = watch(source.bytes, { readsOn: true, limits: { maxBytes: 8, ...limits } });
    source.send('a\n');
    await pass(atMs);
    source.send('DONE\n');
    await pass(200);
    source.send('the tail, ');
    await pass(200);
    source.send('whole');
    await pass(300);
    source.send('too late');
    expect(await outcome).toMatchObject({ text: 'a\n', rest: 'the tail, whole', isDone: true });
  });

  test('is saved after every 50 lines', async () => {
    const source = openSource();
    const { log } = watch(source.bytes);
    source.send(lines(49));
    await pass(0);
    expect(log).toEqual([]);
    source.send(lines(1));
    await pass(0);
    expect(log).toEqual(['save 350']);
  });

  test('is saved 5 s after its first byte, while more arrives', async () => {
    const source = openSource();
    const { log } = watch(source.bytes);
    for (let second = 0; second < 5; second += 1) {
      source.send('x');
      await pass(1000);
    }
    expect(log).toEqual(['save 5']);
  });

  test('is saved at most 4 times a second, even if its source falls silent then', async () => {
    const source = openSource();
    const { log } = watch(source.bytes);
    for (let at = 0; at < 100; at += 1) {
      source.send(lines(50));
      await pass(10);
    }
    expect(log.length).toBeGreaterThanOrEqual(4);
    expect(log.length).toBeLessThanOrEqual(5);
    await pass(250);
    expect(log.map((entry) => Number(entry.slice(5))).reduce((sum, size) => sum + size)).toBe(100 * 350);
  });

  test('is saved when the writer falls silent, who is then prompted once', async () => {
    const source = openSource();
    const { log } = watch(source.bytes);
    source.send('a\n');
    await pass(1999);
    expect(log).toEqual([]);
    await pass(1);
    expect(log).toEqual(['save 2', 'prompt']);
    await pass(60_000);
    expect(log).toEqual(['save 2', 'prompt']);
  });

  test('prompts its writer three times in all, including before the first byte', async () => {
    const source = openSource();
    const { log } = watch(source.bytes);
    for (let silence = 0; silence < 5; silence += 1) {
      await pass(10_000);
      source.send('x');
    }
    expect(log.filter((entry) => entry === 'prompt')).toHaveLength(3);
    expect(log[0]).toBe('prompt');
  });

  test('is ended by the reply DONE', async () => {
    const source = openSource();
    const { outcome, log } = watch(source.bytes);
    source.send('a\n');
    await pass(3000);
    source.send('DONE\n');
    expect(await outcome).toMatchObject({ text: 'a\n', isDone: true, isSaved: true });
    expect(log).toEqual(['save 2', 'prompt']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('does not count its writer as silent if more arrived during a slow save', async () => {
    const source = openSource();
    const { log, disk } = watch(source.bytes);
    disk.delayMs = 3000;
    source.send(lines(50));
    await pass(100);
    source.send('more\n');
    await pass(3500);
    expect(log).toEqual(['save 350']);
  });

  test('is saved by one save after the other, in order', async () => {
    const source = openSource();
    const { outcome, disk } = watch(source.bytes);
    disk.delayMs = 400;
    const sent = Array.from({ length: 20 }, (_, at) => `${at}\n`.repeat(60));
    for (const text of sent) source.send(text);
    source.send('DONE\n');
    await pass(20_000);
    expect(await outcome).toMatchObject({ isDone: true, isSaved: true });
    expect(disk.saved).toBe(sent.join(''));
  });

  test('holds its source back during a save', async () => {
    const source = openSource();
    const { disk } = watch(source.bytes);
    disk.delayMs = 1000;
    for (let at = 0; at < 10; at += 1) source.send(lines(50));
    await pass(500);
    expect(source.counts.taken).toBe(1);
  });

  test('with timeouts far in the future sets no timer that fires immediately', async () => {
    const source = openSource();
    const { log } = watch(source.bytes, { limits: { idlePromptMs: 2 ** 40, saveMs: 2 ** 40 } });
    source.send('a');
    await pass(60_000);
    expect([log, vi.getTimerCount()]).toEqual([[], 1]);
  });
});

describe('a full disk', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('is reported once, retried with each later save, and reported when it recovers', async () => {
    const source = openSource();
    const { log, said, disk, outcome } = watch(source.bytes);
    disk.error = full();
    source.send(lines(50));
    await pass(300);
    source.send(lines(50));
    await pass(300);
    expect(said).toEqual(['warning: The disk is full. The content is kept in memory until it can be saved.']);
    disk.error = null;
    source.send(lines(50));
    await pass(300);
    source.send(lines(50));
    source.send('DONE\n');
    expect(await outcome).toMatchObject({ text: lines(200), isSaved: true });
    expect(log).toEqual(['fail 350', 'fail 700', 'save 1050', 'save 350']);
    expect(disk.saved).toBe(lines(200));
    expect(said.slice(1)).toEqual(['info: The content can be saved again; all of it is saved now.']);
  });

  test('is retried every 5 s while the writer is silent, who is prompted all the same', async () => {
    const source = openSource();
    const { log, disk } = watch(source.bytes);
    disk.error = new TeddyError('WRITE_FAILED', 'The disk is read-only.');
    source.send('x');
    await pass(12_500);
    expect(log).toEqual(['fail 1', 'prompt', 'fail 1', 'fail 1']);
  });

  test('is reported again after it has recovered in between', async () => {
    const source = openSource();
    const { said, disk } = watch(source.bytes);
    for (const error of [full(), null, full()]) {
      disk.error = error;
      source.send(lines(50));
      await pass(300);
    }
    expect(said.map((text) => text.slice(0, 7))).toEqual(['warning', 'info: T', 'warning']);
  });

  test('leaves the content in memory, which is complete but not saved', async () => {
    const source = openSource();
    const { disk, outcome } = watch(source.bytes);
    disk.error = full();
    source.send('a\nDONE\n');
    expect(await outcome).toMatchObject({ text: 'a\n', isDone: true, isSaved: false });
  });

  test.each([new TeddyError('LOCKED', 'Another process has it.'), new Error('a defect')])(
    'with any other error stops: %s',
    async (error) => {
      const source = openSource();
      const { disk, outcome, log } = watch(source.bytes);
      disk.error = error;
      source.send(lines(50));
      expect((await outcome).error).toBe(error);
      expect(log).toEqual(['fail 350']);
    },
  );
});

describe('an interruption', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('by a signal saves first, with a possible start of the marker', async () => {
    const source = openSource();
    const { outcome, disk, abort } = watch(source.bytes);
    source.send('a\nDON');
    await pass(10);
    abort();
    const message = 'Interrupted while receiving the content; everything received so far is saved.';
    expect((await outcome).error).toMatchObject({ code: 'INTERRUPTED', message });
    expect([disk.saved, vi.getTimerCount()]).toEqual(['a\nDON', 0]);
  });

  test('by an earlier signal reads nothing', async () => {
    const source = openSource();
    const signal = AbortSignal.abort();
    const { outcome, log } = watch(source.bytes, { signal });
    source.send('a\n');
    expect((await outcome).error).toMatchObject({ code: 'INTERRUPTED' });
    expect([log, source.counts.taken]).toEqual([[], 0]);
  });

  test('by a signal reports how much is not on disk', async () => {
    const source = openSource();
    const { outcome, disk, abort } = watch(source.bytes);
    disk.error = full();
    source.send('abc\n');
    await pass(10);
    abort();
    const message = 'Interrupted while receiving the content; the last 4 bytes could not be saved.';
    expect((await outcome).error).toMatchObject({ code: 'INTERRUPTED', message });
  });

  test('by a signal during a save saves again after it', async () => {
    const source = openSource();
    const { outcome, disk, abort, log } = watch(source.bytes);
    disk.delayMs = 500;
    source.send(`${lines(50)}D`);
    await pass(10);
    abort();
    await pass(2000);
    expect((await outcome).error).toMatchObject({ code: 'INTERRUPTED' });
    expect(log).toEqual(['save 350', 'save 1']);
  });

  test('by a signal after the marker saves the content', async () => {
    const source = openSource();
    const { outcome, disk, abort } = watch(source.bytes, { isAnswer: true });
    source.send('a\nDONE\nx');
    await pass(10);
    abort();
    expect((await outcome).error).toMatchObject({ code: 'INTERRUPTED' });
    expect(disk.saved).toBe('a\n');
  });

  test('by a failing source saves, and throws the failure', async () => {
    const source = openSource();
    const { outcome, disk } = watch(source.bytes);
    const failure = new TeddyError('MODEL_INTERRUPTED', 'The connection was cut.');
    source.send('a\nDONE');
    source.fail(failure);
    expect((await outcome).error).toBe(failure);
    expect(disk.saved).toBe('a\nDONE');
  });

  test('by the limit saves up to it, and reads nothing more', async () => {
    const source = openSource();
    const { outcome, disk } = watch(source.bytes, { limits: { maxBytes: 10 } });
    source.send('12345678');
    source.send('9abc');
    source.send('more');
    const message = 'Content exceeds 10-byte limit. Please reduce file size.';
    expect((await outcome).error).toMatchObject({ code: 'CONTENT_TOO_LARGE', message });
    expect([disk.saved, source.counts.taken]).toEqual(['123456789a', 2]);
  });

  test('does not happen to content exactly as long as the limit, with its marker', async () => {
    const { outcome } = watch(of('12345678', '9\nDO', 'NE\n'), { limits: { maxBytes: 10 } });
    expect(await outcome).toMatchObject({ text: '123456789\n', isDone: true });
  });

  test('by endless white space after a marker does not fill the memory', async () => {
    const { outcome } = watch(of('DONE', ...Array<string>(20).fill(' '.repeat(1000))), {
      limits: { maxBytes: 10_000 },
    });
    expect((await outcome).error).toMatchObject({ code: 'CONTENT_TOO_LARGE' });
  });
});
