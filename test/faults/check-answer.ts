/** Checks an answer whose process was killed while it arrived. */
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import { listAnswerFiles, readSavedSize } from '../support/saved-answer.ts';
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { slowAnswerText } from './plans.ts';
import type { Scene } from './scenes.ts';

/** The part of the answer that a save had confirmed; empty if there was none. */
export async function readConfirmed({ root }: ScratchRepository): Promise<string> {
  return slowAnswerText.slice(0, await readSavedSize(root));
}

/** After the next command. */
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
  const left = await listAnswerFiles(repository.root);
  const anchors = await repository.git('for-each-ref', '--format=%(refname)', 'refs/teddy/keep/answers/');
  if (anchors !== '') problems.push(`${anchors} is kept beside the line`);
  return [...problems, ...left.map((name) => `${name} is left in staging`)];
}
