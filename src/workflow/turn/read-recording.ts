/** A recorded session's answers, from a branch in this repository or in a bundle. */
import type { TranscriptRecord } from '../../conversation/records/record.ts';
import { resolveFiles } from '../../conversation/history/resolve-files.ts';
import { lastAnswer, userMessages } from '../../conversation/records/transcript.ts';
import { TeddyError } from '../../errors.ts';
import type { Store } from '../../ports/git.ts';
import type { Hash } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { parseLineRef } from '../../names.ts';
import { readLine, readTurnState, toText } from '../../view/view.ts';

export interface RecordedTurn {
  turn: string;
  messageSha256: string | null;
  answer: string;
}

/** Reads the recording. Without `revision`, takes the store's first main line. Throws BAD_RECORDING when there is none. */
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
        ? 'The bundle has no session.'
        : `${revision} is not a session's directory, bundle or branch.`,
      'Pass --recording <directory, bundle or branch>.',
    );
  }
  const state = await readLine(store, tip);
  const turns = await Promise.all(state.turns.map((turn) => readTurnState(store, state.entryOid, state.session, turn)));
  return turns.flatMap(({ turn, records, plan }) => {
    const given = { records, skipped: [], repaired: [] };
    const { transcript } = resolveFiles(turn, given, { plan: plan && toText(plan), report: null });
    return splitByMessage(transcript.records).flatMap((said) => {
      const last = lastAnswer(said);
      const [message] = userMessages(said);
      if (last === null || !('text' in last) || !last.complete) return [];
      return [{ turn, answer: last.text, messageSha256: message === undefined ? null : hash(message) }];
    });
  });
}

/** Splits the records at messages: a question about a plan has a separate answer. */
function splitByMessage(records: readonly TranscriptRecord[]): TranscriptRecord[][] {
  const starts = records.flatMap((record, at) => (at === 0 || userMessages([record]).length > 0 ? [at] : []));
  return starts.map((from, at) => records.slice(from, starts[at + 1]));
}

async function hasEntry(store: Store, tip: Parameters<Store['firstParents']>[0]): Promise<boolean> {
  for await (const { commit } of store.firstParents(tip)) if (decodeEntry(commit.message)) return true;
  return false;
}
