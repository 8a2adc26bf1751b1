/** The log of an entry that was put on other commits than those that it was made on. */
import type { Store } from '../../ports/git.ts';
import type { LogSection } from '../../session/context-log-sections.ts';
import type { Oid } from '../../names.ts';
import type { RenderedLog } from './verify.ts';

/** Teddy gives both the same time; git keeps that of the author when it puts a commit on other ones. */
export async function isRebased(store: Store, commit: Oid): Promise<boolean> {
  const { author, committer } = await store.readCommit(commit);
  const [written, made] = [author, committer].map((ident) => /(\d+) [+-]\d{4}$/.exec(ident)?.[1]);
  return written !== made;
}

/** The code and the line below it are other ones now than those that were shown. */
export function excuseRebased(result: RenderedLog): void {
  const left: RenderedLog['differences'] = [];
  for (const difference of result.differences) {
    const { shown, missing } = difference;
    if (shown === undefined || missing !== undefined || !ofBase.includes(shown.name)) left.push(difference);
    else {
      result.attested += 1;
      result.rebased += 1;
      result.unproven.push(shown.body);
    }
  }
  result.differences = left;
}

const ofBase: LogSection['name'][] = ['history', 'tree', 'file'];
