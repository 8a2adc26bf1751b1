/** Whether a log shows what the commit and the line hold. */
import { toLabel } from '../../session/entry.ts';
import { joinPath, turnDir } from '../../names.ts';
import { toText } from '../line/read.ts';
import { searchText } from './check-texts.ts';
import type { Step, WalkedLine } from './walked-line.ts';

export async function checkLog(walk: WalkedLine, step: Step): Promise<void> {
  const { entry, commit, blame } = step;
  if ((entry.kind !== 'message' && entry.kind !== 'branch') || entry.turn === null) return;
  const path = joinPath(turnDir(walk.session, entry.turn), '_context.log');
  const content = await commit.contents.get(path)?.read();
  if (content?.kind !== 'bytes') return;
  const { session, turn } = entry;
  const ahead = await commit.rendered;
  // What differs is looked at once more, by itself: an object that ends git ends it for all who are waiting.
  const isSure = ahead !== null && ahead.differences.length === 0;
  const rendered = isSure
    ? ahead
    : await walk.logs.render({ commit: commit.oid, session, turn, log: toText(content.bytes) });
  if (entry.kind === 'message' && rendered.asked !== null)
    for (const key of ['agent', 'provider', 'model'] as const)
      if (toLabel(rendered.asked[key], 1000) !== entry[key])
        blame('trailers', null, `The log says another ${key} than the entry.`);
  walk.result.derived += rendered.derived;
  walk.result.attested += rendered.attested;
  for (const { section, message, missing } of rendered.differences) {
    // Every later log shows it as well.
    if (missing !== undefined && walk.missing.has(missing)) continue;
    if (missing !== undefined) walk.missing.add(missing);
    blame(missing === undefined ? 'log' : 'objects', path, `Section ${toLabel(section, 300)}: ${message}`);
  }
  if (rendered.rebased > 0)
    walk.result.notes.push(
      `Turn ${turn} was rebased: ${rendered.rebased} of the sections of its log show the code that it stood on before.`,
    );
  for (const body of rendered.unproven) await searchText(walk, step, path, body);
}
