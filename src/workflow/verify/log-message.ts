/** The last section of a log. */
import { decodeTranscript } from '../../conversation/decode-transcript.ts';
import { userMessages } from '../../conversation/transcript.ts';
import type { Project } from '../../ports.ts';
import { isBranchTurn } from '../build-request.ts';
import { readTurnFile } from '../read-line.ts';
import type { Expected } from './compare-section.ts';
import type { LogRequest } from './render-log-again.ts';

/** The last thing that the user has said in the turn. */
export async function expectMessage(
  { repository: { store } }: Project,
  { commit, session, turn }: LogRequest,
): Promise<Expected> {
  const transcript = await readTurnFile(store, commit, session, turn, 'transcript.jsonl');
  if (transcript === null)
    return isBranchTurn(turn) ? { kind: 'unknown' } : { kind: 'wrong', message: 'The turn has no transcript.' };
  const message = userMessages(decodeTranscript(transcript).records).at(-1) ?? '';
  return { kind: 'text', body: message.replace(/\p{Surrogate}/gu, '\uFFFD') };
}
