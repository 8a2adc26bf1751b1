/** Whether a log shows what the commit and the line hold. */
import { joinPath, turnDir } from '../../session/names.ts';
import { toText } from '../read-line.ts';
import { searchText } from './check-texts.ts';
import type { Step, WalkedLine } from './walked-line.ts';

export async function checkLog(walk: WalkedLine, step: Step): Promise<void> {
  const { entry, commit, blame } = step;
  if ((entry.kind !== 'message' && entry.kind !== 'branch') || entry.turn === null) return;
  const path = joinPath(turnDir(walk.session, entry.turn), '_context.log');
  const content = await commit.contents.get(path);
  if (content?.kind !== 'bytes') return;
  const { session, turn } = entry;
  const rendered = await walk.logs.render({ commit: commit.oid, session, turn, log: toText(content.bytes) });
  walk.result.derived += rendered.derived;
  walk.result.attested += rendered.attested;
  for (const { section, message } of rendered.differences) blame('log', path, `Section ${section}: ${message}`);
  for (const body of rendered.unproven) await searchText(walk, step, path, body);
}
