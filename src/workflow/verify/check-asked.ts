/** Whether an answer says that it comes from whom the log of its turn asked. */
import { toLabel, type Entry } from '../../session/entry.ts';
import { parseLogFront } from '../../session/context-log-parse.ts';
import { joinPath, turnDir, type Oid } from '../../names.ts';
import { isDamage } from '../../errors.ts';
import { toText } from '../line/read.ts';
import type { Step, WalkedLine } from './walked-line.ts';
import type { Asked } from './verify.ts';

const keys = ['agent', 'provider', 'model'] as const;

/** An answer that was brought by hand is `manual`, whoever was asked. */
export async function checkAsked(walk: WalkedLine, { entry, blame }: Step): Promise<void> {
  const isPlan = entry.kind === 'plan';
  if (!isPlan && entry.kind !== 'exchange' && entry.kind !== 'reply') return;
  // Records that a program has appended, and what was imported, name nobody.
  if (!isPlan && keys.every((key) => entry[key] === undefined)) return;
  const asked = await readAsked(walk, entry);
  if (asked === null) return;
  const isByHand = entry.provider === 'manual' && entry.model === 'manual';
  for (const key of keys)
    if (entry[key] !== toLabel(asked[key], 1000) && !(isByHand && key !== 'agent'))
      blame('trailers', null, `The log says another ${key} than the entry.`);
}

/** Null: the turn has no log, or it cannot be read, which is said elsewhere. */
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
