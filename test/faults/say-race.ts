/** Several processes that send messages to one line at the same time; half of the messages are sent by all of them. */
import type { KnownRecord } from '../../src/conversation/records/record.ts';
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { runChild } from './run-child.ts';
import type { Copies, Scene } from './scenes.ts';

const headStartMs = 1500;

/** One unit: a message, a note, an answer or a call with its result. Every second one is the same for each writer. */
export function toSaid(writer: string, number: number): KnownRecord[] {
  const who = number % 2 === 0 ? 'everybody' : writer;
  const id = `${who}-${number}`;
  const base = { id, timestamp: '2026-01-24T10:00:00.000Z' };
  const content = `What ${who} says as number ${number}.`;
  switch (Math.ceil(number / 2) % 4) {
    case 0:
      return [{ ...base, type: 'note', text: content }];
    case 1:
      return [{ ...base, type: 'user', message: { role: 'user', content }, source: 'voice_transcription' }];
    case 2:
      return [
        { ...base, type: 'tool_use', tool_call_id: id, tool_name: 'look', tool_input: { content } },
        { ...base, id: `${id}-result`, type: 'tool_result', tool_call_id: id, output: content, is_error: false },
      ];
    default:
      return [{ ...base, type: 'assistant', message: { role: 'assistant', content }, source: 'voice_response' }];
  }
}

export interface SayRace {
  /** Commits that were acknowledged to the writers. */
  acknowledged: string[];
  /** New commits on the line. */
  commits: string[];
  /** The ids of the records on the line, in order. */
  ids: string[];
  /** ... and of those that were sent, each once. */
  wanted: string[];
  refusals: number;
  failures: string[];
}

export async function raceToSay(
  { program }: Copies,
  scene: Scene,
  repository: ScratchRepository,
  { writers, each }: { writers: number; each: number },
): Promise<SayRace> {
  const { root } = repository;
  const startAtMs = Date.now() + headStartMs;
  const names = Array.from({ length: writers }, (_, at) => `writer-${at + 1}`);
  const runs = await Promise.all(
    names.map((name) => runChild({ program, operation: 'say', root, count: each, name, startAtMs })),
  );
  const said = names.flatMap((name) => Array.from({ length: each }, (_, at) => toSaid(name, at + 1)).flat());
  const commits = await repository.git('rev-list', '--first-parent', scene.ref ?? 'HEAD', `^${scene.oldTip}`);
  const result = {
    acknowledged: runs.flatMap(({ acknowledged }) => acknowledged),
    commits: commits === '' ? [] : commits.split('\n'),
    ids: await readIds(repository, scene),
    wanted: [...new Set(said.map(({ id }) => id))],
    refusals: runs.reduce((sum, { refusals }) => sum + refusals, 0),
    failures: runs.flatMap(({ failure, stderr, exitCode }) => (exitCode === 0 ? [] : [failure?.text ?? stderr])),
  };
  const { length } = result.acknowledged;
  console.log(
    `faults: ${writers} processes x ${each} appended units: ${length} acknowledged, ${result.commits.length} entries, ` +
      `${result.ids.length} records of ${result.wanted.length}, ${result.refusals} refused and repeated, ${result.failures.length} failures`,
  );
  return result;
}

/** Reads the ids in the turns that came since. */
async function readIds(repository: ScratchRepository, { ref, oldTip }: Scene): Promise<string[]> {
  const changed = await repository.git('diff', '--name-only', oldTip, ref ?? 'HEAD');
  const paths = changed.split('\n').filter((path) => path.endsWith('/transcript.jsonl'));
  const texts = await Promise.all(paths.map((path) => repository.git('show', `${ref}:${path}`)));
  const records = texts.flatMap((text) => decodeTranscript(text).records);
  return records.flatMap((record) => (record.type === 'other' ? [] : [record.id]));
}
