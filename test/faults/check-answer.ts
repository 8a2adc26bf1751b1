/** Checks an answer that was killed while it arrived. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeTranscript } from '../../src/conversation/decode-transcript.ts';
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { slowAnswerText } from './plans.ts';
import type { Scene } from './scenes.ts';

/** The part of the answer that a save had confirmed; empty when none had. */
export async function readConfirmed({ root }: ScratchRepository): Promise<string> {
  const dir = join(root, '.git/teddy/answers');
  const [name = ''] = (await readdir(dir).catch(() => [])).filter((entry) => !entry.endsWith('.new'));
  const state = await readFile(join(dir, name, 'state.json'), 'utf8').catch(() => '{"size":0}');
  return slowAnswerText.slice(0, (JSON.parse(state) as { size: number }).size);
}

/** After the command that comes next. */
export async function checkAnswer(repository: ScratchRepository, scene: Scene, confirmed: string): Promise<string[]> {
  const changed = await repository.git('diff', '--name-only', scene.oldTip, scene.ref ?? 'HEAD');
  const path = changed.split('\n').find((name) => name.endsWith('/transcript.jsonl'));
  const { records } = decodeTranscript(await repository.git('show', `${scene.ref}:${path}`));
  const kinds = records.map(({ type }) => type).join();
  const problems: string[] = [];
  const usual = ['user,assistant', 'user,assistant_partial,assistant'];
  if (!usual.includes(kinds)) problems.push(`the transcript has ${kinds}`);
  const kept = records.flatMap((record) =>
    (record.type === 'assistant' || record.type === 'assistant_partial') && 'content' in record.message
      ? [record.message.content]
      : [],
  );
  const [text = ''] = kept;
  if (!slowAnswerText.startsWith(text)) problems.push('what is kept is no beginning of what was sent');
  if (!text.startsWith(confirmed)) problems.push(`${confirmed.length} characters were saved, ${text.length} are kept`);
  const left = (await readdir(join(repository.root, '.git/teddy/answers')).catch(() => [])).filter(
    (name) => !name.endsWith('.new'),
  );
  const anchors = await repository.git('for-each-ref', '--format=%(refname)', 'refs/teddy/keep/answers/');
  if (anchors !== '') problems.push(`${anchors} is kept beside the line`);
  return [...problems, ...left.map((name) => `${name} is left in staging`)];
}
