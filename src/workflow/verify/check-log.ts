/** Checks the log of what the model saw, and the agent and model that the entries name. */
import { isDamage } from '../../errors.ts';
import { joinPath, turnDir, type Oid } from '../../names.ts';
import { parseLogFront } from '../../session/context/context-log-parse.ts';
import { toLabel, type Entry } from '../../session/entries/entry.ts';
import { toText } from '../../view/view.ts';
import { searchText } from './check-texts.ts';
import type { Asked } from './verify.ts';
import type { Step, WalkedLine } from './walked-line.ts';

/** Checks that a log agrees with the commit and the line. */
export async function checkLog(walk: WalkedLine, step: Step): Promise<void> {
  const { entry, commit, blame } = step;
  if ((entry.kind !== 'message' && entry.kind !== 'branch') || entry.turn === null) return;
  const path = joinPath(turnDir(walk.session, entry.turn), '_context.log');
  const content = await commit.contents.get(path)?.read();
  if (content?.kind !== 'bytes') return;
  const { session, turn } = entry;
  const ahead = await commit.rendered;
  // Rechecks a difference separately, because an object that crashes git fails all concurrent reads.
  const isSure = ahead !== null && ahead.differences.length === 0;
  const rendered = isSure
    ? ahead
    : await walk.logs.render({ commit: commit.oid, session, turn, log: toText(content.bytes) });
  if (entry.kind === 'message' && rendered.asked !== null)
    for (const key of keys)
      if (toLabel(rendered.asked[key], 1000) !== entry[key])
        blame('trailers', null, `The log names a different ${key} from the entry.`);
  const oid = walk.published.get(path);
  if (oid !== undefined && rendered.asked !== null) walk.asked = { oid, asked: rendered.asked };
  walk.result.derived += rendered.derived;
  walk.result.attested += rendered.attested;
  for (const { section, message, missing } of rendered.differences) {
    // Every later log shows the object too.
    if (missing !== undefined && walk.missing.has(missing)) continue;
    if (missing !== undefined) walk.missing.add(missing);
    blame(missing === undefined ? 'log' : 'objects', path, `Section ${toLabel(section, 300)}: ${message}`);
  }
  if (rendered.rebased > 0)
    walk.result.notes.push(
      `Turn ${turn} was rebased: ${rendered.rebased === 1 ? '1 section of its log shows' : `${rendered.rebased} sections of its log show`} the code from before the rebase.`,
    );
  for (const body of rendered.unproven) await searchText(walk, step, path, body);
}

/** Checks that an answer comes from the model named in its turn's log. */
const keys = ['agent', 'provider', 'model'] as const;

/** An answer that the user entered is `manual`, whichever model was asked. */
export async function checkAsked(walk: WalkedLine, { entry, blame }: Step): Promise<void> {
  const isPlan = entry.kind === 'plan';
  if (!isPlan && entry.kind !== 'exchange' && entry.kind !== 'reply') return;
  // Records that a program appended, and imported records, name nobody.
  if (!isPlan && keys.every((key) => entry[key] === undefined)) return;
  const asked = await readAsked(walk, entry);
  if (asked === null) return;
  const isByHand = entry.provider === 'manual' && entry.model === 'manual';
  for (const key of keys)
    if (entry[key] !== toLabel(asked[key], 1000) && !(isByHand && key !== 'agent'))
      blame('trailers', null, `The log names a different ${key} from the entry.`);
}

/** Returns null when the turn has no log, or an unreadable log, which another check reports. */
async function readAsked(walk: WalkedLine, { turn }: Entry): Promise<Asked | null> {
  const oid = turn === null ? undefined : walk.published.get(joinPath(turnDir(walk.session, turn), '_context.log'));
  if (oid === undefined) return null;
  if (walk.asked?.oid !== oid) walk.asked = { oid, asked: await readFront(walk, oid) };
  return walk.asked.asked;
}

async function readFront(walk: WalkedLine, oid: Oid): Promise<Asked | null> {
  const content = await walk.contents.read(oid, walk.maxFileBytes);
  if (content.kind !== 'bytes') return null;
  try {
    return parseLogFront(toText(content.bytes));
  } catch (error) {
    if (!isDamage(error)) throw error;
    return null;
  }
}
