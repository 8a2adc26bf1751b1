/** Reads a directory of recorded answers: a session's directory, or flat files such as `02.md`. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { Hash } from '../ports/project.ts';
import { compareTurns, isTurnName, type TurnName } from '../names.ts';
import type { RecordedAnswer } from './recorded.ts';

/**
 * Reads the answers in turn order. A session's directory contains `NN/plan.md` and `NN/transcript.jsonl`; turns that no
 * model has answered are skipped. Flat files are named `NN.md`, with the message in `NN.message.txt` if it is known.
 * `sha256` returns hex. Throws FILE_NOT_FOUND without a directory, and BAD_RECORDING when it contains no answers.
 */
export async function readRecordedDirectory(dir: string, sha256: Hash): Promise<RecordedAnswer[]> {
  const names = await listNames(dir);
  const session = names.filter(isTurnName).sort(compareTurns);
  const flat = names.flatMap(toFlatTurn).sort(compareTurns);
  const found = session.length > 0 ? session.map(readTurn) : flat.map(readFlat);
  const answers = (await Promise.all(found)).filter((answer) => answer !== null);
  if (answers.length > 0) return answers;
  throw new TeddyError('BAD_RECORDING', `${dir} contains no recorded answers.`, expected);

  async function readTurn(turn: TurnName): Promise<RecordedAnswer | null> {
    const { message, answer } = parseTranscript((await readText(join(dir, turn, 'transcript.jsonl'))) ?? '');
    return toAnswer(turn, message, (await readText(join(dir, turn, 'plan.md'))) ?? answer);
  }

  async function readFlat(turn: TurnName): Promise<RecordedAnswer | null> {
    return toAnswer(turn, await readText(join(dir, `${turn}.message.txt`)), await readText(join(dir, `${turn}.md`)));
  }

  function toAnswer(turn: TurnName, message: string | null, answer: string | null): RecordedAnswer | null {
    return answer === null ? null : { turn, messageSha256: message === null ? null : sha256(message), answer };
  }
}

const expected = 'A recording is the directory of a session (01/plan.md, ...), or a directory with 01.md, 02.md, ...';

function toFlatTurn(name: string): TurnName[] {
  const turn = name.endsWith('.md') ? name.slice(0, -'.md'.length) : '';
  return isTurnName(turn) ? [turn] : [];
}

async function listNames(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    throw new TeddyError('FILE_NOT_FOUND', `There is no recording at ${dir} (${codeOf(error)}).`, expected, {
      cause: error,
    });
  }
}

/** Returns null when the file does not exist. */
async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null;
    throw new TeddyError('BAD_RECORDING', `${path} cannot be read (${codeOf(error)}).`, expected, { cause: error });
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}

interface LastWords {
  message: string | null;
  answer: string | null;
}

// Finds the message that the model answered: the last one, because another message may have replaced the first while
// the turn was open.
function parseTranscript(text: string): LastWords {
  const words: LastWords = { message: null, answer: null };
  for (const line of text.split('\n')) {
    const record = parseRecord(line);
    if (record?.type === 'user' && record.source !== 'report') words.message = record.content;
    if (record?.type === 'assistant') words.answer = record.content;
  }
  return words;
}

function parseRecord(line: string): { type: string; source: unknown; content: string } | null {
  try {
    const { type, source, message } = JSON.parse(line) as {
      type?: unknown;
      source?: unknown;
      message?: { content?: unknown };
    };
    return typeof type === 'string' && typeof message?.content === 'string'
      ? { type, source, content: message.content }
      : null;
  } catch {
    return null;
  }
}
