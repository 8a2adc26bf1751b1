/** Which entry of a session a commit of the user's has just replaced. */
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entry.ts';
import { parseOid, type Oid } from '../../names.ts';

export interface RewrittenEntry {
  /** The commit that was there before; git still has it. */
  oid: Oid;
  entry: Entry;
}

/** `text`: what git tells its hook post-rewrite, `<old> <new>` a line. Null: no entry is among the old ones. */
export async function findRewritten({ repository: { store } }: Project, text: string): Promise<RewrittenEntry | null> {
  for (const [, old = ''] of text.matchAll(/^([0-9a-f]+) [0-9a-f]+(?: |$)/gm)) {
    const oid = parseOid(old);
    const entry = decodeEntry((await store.readCommit(oid)).message);
    if (entry !== null) return { oid, entry };
  }
  return null;
}
