/** The answers of a session that somebody has recorded: a branch of this repository, or of a bundle. */
import { lastAnswer, userMessages } from '../../conversation/transcript.ts';
import { TeddyError } from '../../errors.ts';
import type { Store } from '../../ports/git.ts';
import type { Hash } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entry.ts';
import { parseLineRef } from '../../names.ts';
import { readLine, readTurn, toText } from '../line/read.ts';

export interface RecordedTurn {
  turn: string;
  messageSha256: string | null;
  answer: string;
}

/** `revision` undefined: the first main line of the store. Throws BAD_RECORDING when there is none. */
export async function readRecordedLine(store: Store, hash: Hash, revision?: string): Promise<RecordedTurn[]> {
  const main = (await store.listRefs('refs/heads/teddy/')).find(({ ref }) => parseLineRef(ref)?.branch === null);
  const tip =
    revision === undefined
      ? (main?.oid ?? null)
      : ((await store.resolve(revision)) ?? (await store.resolve(`refs/heads/teddy/${revision}`)));
  if (tip === null || !(await hasEntry(store, tip))) {
    throw new TeddyError(
      'BAD_RECORDING',
      revision === undefined
        ? 'The bundle holds no session.'
        : `${revision} is no directory, bundle or branch of a session.`,
      'Give --recording <directory, bundle or branch>.',
    );
  }
  const state = await readLine(store, tip);
  const turns = await Promise.all(state.turns.map((turn) => readTurn(store, state.entryOid, state.session, turn)));
  return turns.flatMap(({ turn, records, plan }) => {
    const last = lastAnswer(records);
    const answer = plan !== null ? toText(plan) : last && 'text' in last && last.complete ? last.text : null;
    const message = userMessages(records).at(-1);
    return answer === null ? [] : [{ turn, answer, messageSha256: message === undefined ? null : hash(message) }];
  });
}

async function hasEntry(store: Store, tip: Parameters<Store['firstParents']>[0]): Promise<boolean> {
  for await (const { commit } of store.firstParents(tip)) if (decodeEntry(commit.message)) return true;
  return false;
}
