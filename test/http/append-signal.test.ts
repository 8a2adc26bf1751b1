import { expect, test } from 'vitest';
import { appendSignal } from '../../src/http/append-signal.ts';

const never = new AbortController().signal;

async function isOver(pause: Promise<void>): Promise<boolean> {
  const later = new Promise<false>((resolve) => setTimeout(() => resolve(false), 30));
  return Promise.race([pause.then(() => true), later]);
}

test('a pause ends when an entry is appended, and when its time is over', async () => {
  const signal = appendSignal();
  const listener = signal.listen();
  const pause = listener.pause(10_000, never);
  expect(await isOver(pause)).toBe(false);
  signal.notify();
  expect(await isOver(pause)).toBe(true);
  expect(await isOver(listener.pause(5, never))).toBe(true);
});

test('an entry that is appended between two pauses immediately ends the next one, and only that', async () => {
  const signal = appendSignal();
  const listener = signal.listen();
  signal.notify();
  signal.notify();
  expect(await isOver(listener.pause(10_000, never))).toBe(true);
  expect(await isOver(listener.pause(10_000, never))).toBe(false);
});

test('every listener is woken, and a pause ends with its signal', async () => {
  const signal = appendSignal();
  const [one, other] = [signal.listen(), signal.listen()];
  const pauses = [one.pause(10_000, never), other.pause(10_000, never)];
  signal.notify();
  for (const pause of pauses) expect(await isOver(pause)).toBe(true);
  const stop = new AbortController();
  const pause = one.pause(10_000, stop.signal);
  stop.abort();
  expect(await isOver(pause)).toBe(true);
  expect(await isOver(one.pause(10_000, stop.signal))).toBe(true);
});

test('a closed listener is not woken', async () => {
  const signal = appendSignal();
  const listener = signal.listen();
  listener.close();
  signal.notify();
  expect(await isOver(listener.pause(10_000, never))).toBe(false);
});
