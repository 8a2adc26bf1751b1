/** Says in the user's own commits on a line in which session and turn they were made. */
import type { MessageFile } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { addDuring, duringTrailer } from '../../session/during-trailer.ts';
import { compareTurns, isTurnName, sessionDir, type TurnName } from '../../names.ts';
import { findHeadLine, type Line } from '../line/find.ts';
import { findEntry } from '../line/read.ts';

/**
 * Adds the trailer to the message of a commit that is being made. Nothing happens off a line, nor in a merge, whose message is
 * git's. `isEdited`: an editor shows it, so git adds its comments.
 */
export async function addDuringTrailer(
  project: Project,
  message: MessageFile,
  { isEdited }: { isEdited: boolean },
): Promise<void> {
  const line = await findHeadLine(project);
  if (line === null || (await line.workspace?.operationInProgress(null)) === 'merge') return;
  const text = await message.read();
  const trailer = duringTrailer(line.session, await readLatestTurn(project, line));
  const comment = (await project.repository.store.setting('core.commentchar')) ?? '#';
  const changed = addDuring(text, [trailer], { hasComments: isEdited, comment: toBytes(comment) });
  if (changed !== text) await message.write(changed);
}

async function readLatestTurn({ repository: { store } }: Project, { tip }: Line): Promise<TurnName | null> {
  if (tip === null) return null;
  const { oid, entry } = await findEntry(store, tip);
  const directories = (await store.readDir(oid, sessionDir(entry.session)))?.entries ?? [];
  const turns = directories.map(({ name }) => name).filter(isTurnName);
  return turns.toSorted(compareTurns).at(-1) ?? null;
}

/** Converts the text back to the bytes that the message was read from. */
function toBytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
}
