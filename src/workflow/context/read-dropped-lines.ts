/** What the user has taken out of the lists: what those lines brought in must not stay by being carried from turn to turn. */
import type { Store } from '../../ports/git.ts';
import { parseContextLine } from '../../session/context-lines.ts';
import { decodeEntry } from '../../session/entry.ts';
import { globalContextPath } from '../../session/global-files.ts';
import { joinPath, sessionDir, type Oid, type TurnName } from '../../names.ts';
import { toText, type LineState } from '../line/read.ts';

/** The lines of `global.context` and `session.context` that turn `last` was shown with, and that `now` has no more. */
export async function readDroppedLines(
  store: Store,
  state: LineState,
  last: TurnName | undefined,
  now: { global: string; session: string },
): Promise<string[]> {
  const opening = last === undefined ? null : await findOpening(store, state, last);
  if (opening === null) return [];
  const paths = [globalContextPath, joinPath(sessionDir(state.session), 'session.context')];
  const texts = await Promise.all(
    paths.map(async (path) => toText((await store.readFile(opening, path))?.bytes ?? null)),
  );
  const kept = new Set([now.global, now.session].flatMap(listAdditions));
  return texts.flatMap(listAdditions).filter((line) => !kept.has(line));
}

/** The entry whose commit has the lists as the request of the turn was built from them. */
async function findOpening(store: Store, { entryOid }: LineState, turn: TurnName): Promise<Oid | null> {
  for await (const { oid, commit } of store.firstParents(entryOid)) {
    const entry = decodeEntry(commit.message);
    if (entry?.kind === 'start') return null;
    if (entry?.turn === turn && (entry.kind === 'message' || entry.kind === 'branch')) return oid;
  }
  return null;
}

function listAdditions(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const parsed = parseContextLine(line);
    if (parsed === null || parsed.removes) return [];
    return [parsed.literal ? JSON.stringify(parsed.text) : parsed.text];
  });
}
