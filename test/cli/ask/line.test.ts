/** A text that somebody pastes as an answer: nothing that stands on the screen may be lost. */
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { askLine, askText } from '../../../src/cli/ask/line.ts';
import { openTerminal } from '../../../src/cli/terminal.ts';
import { memoryContext } from '../../support/cli-context.ts';

const [begin, end] = ['\u001b[200~', '\u001b[201~'];

/** Sends the pieces one after the other, and returns what was answered. */
async function answer(pieces: string[], ask: typeof askText = askText): Promise<string | null> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const terminal = openTerminal({ ...memoryContext(), stdin }, 'never');
  const asked = ask(terminal, new AbortController().signal, 'Your answer: ');
  for (const piece of pieces) {
    await sleep(60);
    stdin.write(piece);
  }
  return asked;
}

test.each<[string, string[], string]>([
  ['a typed line', ['one\r'], 'one'],
  ['Enter alone', ['\r'], ''],
  ['lines that arrive together', ['one\rtwo\r\r  three\r'], 'one\ntwo\n\n  three'],
  ['lines that arrive together, and Enter', ['one\r\ntwo\r\nthr', 'ee\r'], 'one\ntwo\nthree'],
  ['a paste, and Enter', [`${begin}one\rtwo\rthree${end}`, '\r'], 'one\ntwo\nthree'],
  ['a paste that ends with a line end, and Enter', [`${begin}one\rtwo\r${end}`, '\r'], 'one\ntwo'],
  ['a paste in pieces', [`${begin}one\rtw`, 'o\rthree', `${end}`, '\r'], 'one\ntwo\nthree'],
  ['a paste within what is typed', ['so: ', `${begin}one\rtwo${end}`, '!\r'], 'so: one\ntwo!'],
  ['two pastes', [`${begin}one\r${end}`, `${begin}two\rthree${end}`, '\r'], 'one\ntwo\nthree'],
])('%s is taken whole', async (_, pieces, text) => {
  expect(await answer(pieces)).toBe(text);
});

test('a paste whose end never comes, and the end of the input, answer nothing', async () => {
  expect(await answer([`${begin}one\rtwo`, '\u0004', `${end}`, '\u0015\u0004'])).toBeNull();
});

test('a question that takes a letter takes a line', async () => {
  expect(await answer(['y\rn\r'], askLine)).toBe('y');
});
