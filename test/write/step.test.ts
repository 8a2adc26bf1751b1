import { describe, expect, test } from 'vitest';
import type { Oid, RefName, SessionId } from '../../src/names.ts';
import { writeLimits, type Limits } from '../../src/session/settings/write-limits.ts';
import { isSaveDue, nextTickMs, isExpired, openWrite, step, type Effect, type Event } from '../../src/write/step.ts';
import {
  initialState,
  type Finding,
  type Install,
  type Phase,
  type WriteState,
  type Write,
} from '../../src/write/write.ts';

const begunMs = 1_000_000;
const commit = 'c'.repeat(40) as Oid;
const findings: Finding[] = [{ check: 'json', message: 'A comma is missing.', line: 3, column: 1 }];
const others: Finding[] = [{ check: 'json', message: 'A comma is missing.', line: 4, column: 1 }];
const install: Install = {
  sha256: 'a'.repeat(64),
  contentSha256: 'b'.repeat(64),
  tip: null,
  ref: 'refs/heads/teddy/01-writes' as RefName,
  session: '01-writes' as SessionId,
  summary: { passed: ['json'], failed: [], skipped: [] },
  notes: [],
  isForced: false,
};

const allPhases: Phase[] = [
  ...(['awaiting_content', 'receiving', 'finalizing', 'needs_corrections', 'installing', 'installed'] as const),
  ...(['committed', 'cancelled', 'expired', 'failed'] as const),
];
const overPhases: Phase[] = ['committed', 'cancelled', 'expired', 'failed'];

const open = (state: Partial<WriteState> = {}, limits: Partial<Limits> = {}) =>
  openWrite({ ...writeLimits, ...limits }, begunMs, { ...initialState(begunMs), ...state });

/** The effects of each event, with the time since the start in milliseconds. */
function play(start: Write, events: Event[]): { write: Write; effects: Effect[][] } {
  let write = start;
  const effects = events.map((event) => {
    const next = step(write, event);
    write = next.write;
    return next.effects;
  });
  return { write, effects };
}

const content = (afterMs: number, lines = 1, bytes = 10 * lines): Event => ({
  type: 'content',
  bytes,
  lines,
  atMs: begunMs + afterMs,
});
const at = <Type extends 'tick' | 'saved' | 'save-failed' | 'restart' | 'done' | 'reopen'>(
  type: Type,
  afterMs: number,
) => ({
  type,
  atMs: begunMs + afterMs,
});
const rejected = (found = findings): Event => ({
  type: 'rejected',
  findings: found,
  isOfModel: false,
  atMs: begunMs + 9,
});
const accepted: Event = { type: 'accepted', install, atMs: begunMs + 9 };
/** After everything that happens here. */
const latestMs = begunMs + 1_000_000;
const tickAfter = (write: Write) => {
  const ms = nextTickMs(write, latestMs);
  return ms === null ? null : ms - begunMs;
};

describe('a receiving write session', () => {
  test('counts its bytes and is active from then on', () => {
    const { write } = play(open(), [content(10), content(20, 2)]);
    expect(write.state).toMatchObject({ phase: 'receiving', size: 30, activityAt: begunMs + 20 });
  });

  test('does not change the given state', () => {
    const write = open();
    const copy = structuredClone(write);
    play(write, [content(1), at('saved', 2), at('done', 3), rejected(), { type: 'cancel' }]);
    expect(write).toEqual(copy);
  });

  test('still waits for content if the received bytes may not be content', () => {
    const { write } = play(open(), [content(10, 0, 0)]);
    expect(write.state).toMatchObject({ phase: 'awaiting_content', size: 0, activityAt: begunMs + 10 });
    expect(step(write, { type: 'end' }).effects).toEqual([]);
  });

  test('accepts exactly as many bytes as its limit', () => {
    const full = step(open({}, { maxBytes: 30 }), content(1, 3)).write;
    expect(full.state.size).toBe(30);
    expect(() => step(full, content(2, 0, 1))).toThrow('Content exceeds 30-byte limit. Please reduce file size.');
    expect(() => step(open(), content(1, 1, 10 * 1024 * 1024 + 1))).toThrow('Content exceeds 10MB limit.');
    expect(step(open(), content(1, 1, 10 * 1024 * 1024)).write.state.size).toBe(10_485_760);
  });

  test.each(['finalizing', 'needs_corrections'] as const)('continues to receive if it was %s', (phase) => {
    expect(step(open({ phase, size: 5 }), content(1)).write.state).toMatchObject({ phase: 'receiving', size: 15 });
  });

  test.each(['content', 'restart'] as const)('refuses %s during and after the installation', (type) => {
    const event = type === 'content' ? content(1) : at('restart', 1);
    const codes = allPhases.map((phase) => {
      try {
        return step(open({ phase }), event).write.state.phase;
      } catch (error) {
        return (error as { code: string }).code;
      }
    });
    const [taken, finalizing, unknown] = ['receiving', 'WRITE_FINALIZING', 'UNKNOWN_WRITE'];
    expect(codes).toEqual([...Array(4).fill(taken), ...Array(2).fill(finalizing), ...Array(4).fill(unknown)]);
  });

  test('starts over, with nothing to save, and does not count as silent', () => {
    const write = play(open(), [content(0, 60), at('restart', 60_000)]).write;
    expect(write.state).toMatchObject({ phase: 'receiving', size: 0, activityAt: begunMs + 60_000 });
    expect(step(write, { type: 'end' }).effects).toEqual([]);
    expect(tickAfter(write)).toBe(62_000);
  });
});

describe('a save is due', () => {
  test('with the 50th line, and not with the 49th', () => {
    expect(play(open(), [content(0, 49), content(1)]).effects).toEqual([[], ['save']]);
  });

  test('5 s after the first unsaved byte, whatever has come since', () => {
    const sent = Array.from({ length: 5 }, (_, second) => content(second * 1000));
    const { write, effects } = play(open(), [...sent, at('tick', 4999), at('tick', 5000)]);
    expect(effects).toEqual([[], [], [], [], [], [], ['save']]);
    expect(tickAfter(write)).toBe(5000);
    expect(play(open(), [content(0), content(5000)]).effects).toEqual([[], ['save']]);
  });

  test('at most 4 times a second', () => {
    const { write, effects } = play(open(), [content(0, 50), at('saved', 0), content(100, 50), content(249, 50)]);
    expect(effects).toEqual([['save'], [], [], []]);
    expect(tickAfter(write)).toBe(250);
    expect(step(write, at('tick', 249)).effects).toEqual([]);
    expect(step(write, at('tick', 250)).effects).toEqual(['save']);
    expect(step(write, content(250)).effects).toEqual(['save']);
  });

  test('in its usual pace after the clock was set back, however far', () => {
    const hourMs = 3_600_000;
    const { write, effects } = play(open(), [content(0, 50), at('saved', 0), content(10 - hourMs, 50)]);
    expect(effects).toEqual([['save'], [], ['save']]);
    const waiting = play(open(), [content(0, 50), at('saved', 0), content(10 - hourMs)]).write;
    expect(isSaveDue(waiting, begunMs - hourMs + 5009)).toBe(false);
    expect(isSaveDue(waiting, begunMs - hourMs + 5010)).toBe(true);
    expect(step(write, at('saved', 10 - hourMs)).write.savedAtMs).toBe(begunMs + 10 - hourMs);
  });

  test('immediately if it was set back while bytes waited', () => {
    const { write } = play(open(), [content(0)]);
    expect(nextTickMs(write, begunMs - 60_000)).toBe(begunMs - 60_000);
    expect(step(write, at('tick', -60_000)).effects).toEqual(['save']);
  });

  test('no more once everything is saved, until more has come', () => {
    const { write } = play(open(), [content(0, 50), at('saved', 10)]);
    expect(step(write, at('tick', 1999)).effects).toEqual([]);
    expect(play(write, [content(1000, 49), content(1001)]).effects).toEqual([[], ['save']]);
  });

  test('again after a failed one, at the same pace as for new bytes', () => {
    const { write } = play(open(), [content(0, 50), at('save-failed', 100)]);
    expect(step(write, content(101, 49)).effects).toEqual([]);
    expect(step(write, content(340, 50)).effects).toEqual([]);
    expect(step(write, content(350, 50)).effects).toEqual(['save']);
    const asked = { ...write, prompts: 3 };
    expect(tickAfter(asked)).toBe(5100);
    expect(step(asked, at('tick', 5100)).effects).toEqual(['save']);
  });

  test('at the end, if anything is not saved', () => {
    expect(step(open(), { type: 'end' }).effects).toEqual([]);
    expect(play(open(), [content(0), { type: 'end' }]).effects).toEqual([[], ['save']]);
    expect(play(open(), [content(0), at('saved', 1), { type: 'end' }]).effects).toEqual([[], [], []]);
    expect(play(open(), [content(0), at('save-failed', 1), { type: 'end' }]).effects).toEqual([[], [], ['save']]);
  });
});

describe('a silent writer', () => {
  test('is prompted after 2 s, once per silence, after a save of the received bytes', () => {
    const { write, effects } = play(open(), [content(0), at('tick', 1999), at('tick', 2000), at('saved', 2001)]);
    expect(effects).toEqual([[], [], ['save', 'prompt'], []]);
    expect(tickAfter(write)).toBe(null);
    expect(step(write, at('tick', 60_000)).effects).toEqual([]);
  });

  test('is prompted without a save if everything is saved, or nothing has come', () => {
    expect(play(open(), [at('tick', 2000)]).effects).toEqual([['prompt']]);
    expect(play(open(), [content(0), at('saved', 1), at('tick', 2000)]).effects).toEqual([[], [], ['prompt']]);
  });

  test('is prompted again in the next silence, and three times in all', () => {
    const silences = [0, 10_000, 20_000, 30_000].flatMap((ms) => [
      content(ms),
      at('tick', ms + 2000),
      at('saved', ms + 2000),
    ]);
    const { write, effects } = play(open(), silences);
    expect(effects.filter((of) => of.includes('prompt'))).toHaveLength(3);
    expect(effects[10]).toEqual([]);
    expect(tickAfter(play(write, [content(40_000)]).write)).toBe(45_000);
  });

  test('has broken its silence even with bytes that may not be content', () => {
    const { write } = play(open(), [content(0), content(1500, 0, 0)]);
    expect(step(write, at('tick', 2000)).effects).toEqual([]);
    expect(tickAfter(write)).toBe(3500);
    const asked = play(open(), [at('tick', 2000), content(3000, 0, 0)]).write;
    expect(step(asked, at('tick', 5000)).effects).toEqual(['prompt']);
  });

  test('is not prompted once its content is complete', () => {
    const phases = allPhases.filter((phase) => nextTickMs(open({ phase }), latestMs) !== null);
    expect(phases).toEqual(['awaiting_content', 'receiving']);
    const asked = allPhases.filter((phase) => step(open({ phase }), at('tick', 9000)).effects.length > 0);
    expect(asked).toEqual(['awaiting_content', 'receiving']);
  });
});

describe('complete content', () => {
  test('is saved, validated, installed and committed, and then no longer needed', () => {
    const { write, effects } = play(open(), [
      content(0),
      at('done', 5),
      accepted,
      { type: 'installed' },
      { type: 'committed', commit },
    ]);
    expect(effects).toEqual([[], ['save', 'validate'], ['save', 'install'], ['save', 'commit'], ['save', 'discard']]);
    expect(write.state).toMatchObject({ phase: 'committed', size: 10, findings: [], result: { ...install, commit } });
  });

  test('records each phase before its action', () => {
    const phases: Phase[] = [];
    let write = open();
    for (const event of [content(0), at('done', 5), accepted, { type: 'installed' } as const]) {
      write = step(write, event).write;
      phases.push(write.state.phase);
    }
    expect(phases).toEqual(['receiving', 'finalizing', 'installing', 'installed']);
    expect(write.state.install).toEqual(install);
  });

  test.each([
    ['awaiting_content', ['save', 'validate'], 'finalizing'],
    ['receiving', ['save', 'validate'], 'finalizing'],
    ['finalizing', ['save', 'validate'], 'finalizing'],
    ['needs_corrections', ['save', 'validate'], 'finalizing'],
    ['installing', ['install'], 'installing'],
    ['installed', ['commit'], 'installed'],
  ] as const)('continues from %s with %j', (phase, effects, next) => {
    const stepped = step(open({ phase, install }), at('done', 5));
    expect(stepped.effects).toEqual(effects);
    expect(stepped.write.state.phase).toBe(next);
  });

  test.each(overPhases)('is refused if the session is %s', (phase) => {
    expect(() => step(open({ phase }), at('done', 5))).toThrow('Session not found or expired.');
  });

  test('is checked once more if a crash came before it was installed', () => {
    const { effects, write } = play(open({ phase: 'installing', install }), [{ type: 'unprepared' }]);
    expect(effects).toEqual([['save', 'validate']]);
    expect(write.state.phase).toBe('finalizing');
  });

  test('that was never installed cannot be committed', () => {
    expect(() => step(open({ phase: 'finalizing' }), { type: 'committed', commit })).toThrow('was never installed');
  });

  test('that cannot be installed has failed, and is saved with the reason', () => {
    const { write, effects } = play(open(), [at('done', 1), { type: 'refused', reason: 'the target changed' }]);
    expect(effects[1]).toEqual(['save']);
    expect(write.state).toMatchObject({ phase: 'failed', reason: 'the target changed' });
  });
});

describe('content with findings', () => {
  const finalize = (found: Finding[]): Event[] => [at('done', 1), rejected(found)];

  test('needs a correction, and the findings are saved', () => {
    const { write, effects } = play(open(), finalize(findings));
    expect(effects[1]).toEqual(['save']);
    expect(write.state).toMatchObject({ phase: 'needs_corrections', validations: 1, findings, reason: null });
  });

  test('has failed after three validations with different findings', () => {
    const { write } = play(open(), [...finalize(findings), ...finalize(others)]);
    expect(write.state).toMatchObject({ phase: 'needs_corrections', validations: 2, findings: others });
    const { state } = play(write, finalize(findings)).write;
    expect(state).toMatchObject({ phase: 'failed', validations: 3, reason: '3 validations failed' });
  });

  test('by a model has failed if the same was found twice', () => {
    const ofModel = finalize([...findings]).map((event) => ({ ...event, isOfModel: true }));
    const { state } = play(open(), [...finalize(findings), ...ofModel]).write;
    expect(state).toMatchObject({ phase: 'failed', validations: 2, reason: 'the same findings twice' });
  });

  test('by a person has failed after three validations, whatever was found', () => {
    const twice = play(open(), [...finalize(findings), ...finalize([...findings])]).write;
    expect(twice.state).toMatchObject({ phase: 'needs_corrections', validations: 2, reason: null });
    const { state } = play(twice, finalize([...findings])).write;
    expect(state).toMatchObject({ phase: 'failed', validations: 3, reason: '3 validations failed' });
  });

  test('keeps no findings once it is accepted', () => {
    const { state } = play(open(), [...finalize(findings), at('done', 2), accepted]).write;
    expect(state).toMatchObject({ phase: 'installing', findings: [], validations: 1 });
  });

  test('has failed immediately if one validation is the limit', () => {
    const { state } = play(open({}, { maxValidations: 1 }), finalize(findings)).write;
    expect(state).toMatchObject({ phase: 'failed', reason: '1 validation failed' });
  });
});

describe('an end', () => {
  test('by cancelling is possible in any phase before the target is in place', () => {
    for (const phase of allPhases.filter((of) => of !== 'committed' && of !== 'installed')) {
      const { write, effects } = step(open({ phase }), { type: 'cancel' });
      expect([write.state.phase, effects]).toEqual(['cancelled', ['discard']]);
    }
    expect(() => step(open({ phase: 'committed' }), { type: 'cancel' })).toThrow('Session not found or expired.');
    expect(() => step(open({ phase: 'installed' }), { type: 'cancel' })).toThrow('is being written to its file');
  });

  test('by silence comes even if the clock was set back by more than that', () => {
    const state = { ...initialState(begunMs), phase: 'receiving' as const };
    expect(isExpired(state, writeLimits, begunMs - 299_999)).toBe(false);
    expect(isExpired(state, writeLimits, begunMs - 300_000)).toBe(true);
  });

  test('by silence comes 5 minutes after the last activity, and never twice', () => {
    const state = { ...initialState(begunMs), phase: 'receiving' as const };
    expect(isExpired(state, writeLimits, begunMs + 299_999)).toBe(false);
    expect(isExpired(state, writeLimits, begunMs + 300_000)).toBe(true);
    for (const phase of overPhases) expect(isExpired({ ...state, phase }, writeLimits, begunMs + 9e9)).toBe(false);
  });

  test('is undone by continuing a failed or expired session', () => {
    for (const phase of ['expired', 'failed', 'receiving', 'needs_corrections'] as const) {
      const left = open({ phase, size: 7, validations: 3, findings, reason: '3 validations failed' });
      const { write, effects } = step(left, at('reopen', 9000));
      expect(effects).toEqual(['save']);
      const state = { phase: 'receiving', size: 7, validations: 0, findings: [], reason: null };
      expect(write.state).toMatchObject({ ...state, activityAt: begunMs + 9000 });
      expect(tickAfter(write)).toBe(11_000);
    }
  });

  test('is not undone for an installed, committed or cancelled one', () => {
    const phases = (['installing', 'installed'] as const).map(
      (phase) => step(open({ phase }), at('reopen', 9)).write.state,
    );
    expect(phases.map(({ phase }) => phase)).toEqual(['installing', 'installed']);
    for (const phase of ['committed', 'cancelled'] as const) {
      expect(() => step(open({ phase }), at('reopen', 9))).toThrow('Session not found or expired.');
    }
  });
});
