/**
 * The answers on each of many lines, and where its turns begin. A line up to its tip never changes, so what was read is kept in the
 * cache; the others are read by one git process.
 */
import { decodeEntry, type Entry } from '../../session/entry.ts';
import { isDamage } from '../../errors.ts';
import { isAnswer, type CostedEntry } from '../../session/spending.ts';
import { isStartOf } from '../../session/logged-entry.ts';
import type { Cache } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';
import { readEntries } from './count-cost.ts';

interface LineTip {
  session: SessionId;
  tip: Oid;
}

export interface LineAnswers {
  answers: (CostedEntry & Pick<Entry, 'id'>)[];
  /** The id of the first entry of each turn. */
  opening: string[];
}

export async function readLineAnswers<Line extends LineTip>(
  { repository: { store, cache } }: Project,
  lines: readonly Line[],
): Promise<Map<Line, LineAnswers>> {
  const known = await readKept(cache);
  const unknown = lines.filter((line) => !known.has(toKey(line)));
  const walks = unknown.map((line): Walk => ({ line, entries: new Map(), isDone: false }));
  if (walks.length > 0) await walkAll(store.firstParentsOf(unknown.map(({ tip }) => tip)), walks);
  for (const { line, entries, isDone } of walks) {
    // Where a clock was wrong, a commit may have come before the ones that lead to it.
    const all = isDone ? [...entries.values()].toReversed() : await readEntries(store, line.session, line.tip);
    known.set(toKey(line), toAnswers(all));
  }
  const found = new Map(lines.flatMap((line) => toPair(line, known.get(toKey(line)))));
  if (walks.length * rewrittenFor > known.size) await keep(cache, found);
  return found;
}

function toPair<Line>(line: Line, answers: LineAnswers | undefined): [Line, LineAnswers][] {
  return answers === undefined ? [] : [[line, answers]];
}

interface Walk {
  line: LineTip;
  /** Newest first; each once, as after a rebase it may be there twice. */
  entries: Map<string, Entry>;
  isDone: boolean;
}

async function walkAll(
  commits: AsyncIterable<{ oid: Oid; parent: Oid | null; message: string }>,
  walks: readonly Walk[],
): Promise<void> {
  const waiting = new Map<Oid, Walk[]>();
  const wait = (walk: Walk, oid: Oid) => {
    const others = waiting.get(oid);
    if (others === undefined) waiting.set(oid, [walk]);
    else others.push(walk);
  };
  for (const walk of walks) wait(walk, walk.line.tip);
  try {
    for await (const { oid, parent, message } of commits) {
      const here = waiting.get(oid);
      if (here === undefined) continue;
      waiting.delete(oid);
      const entry = decodeEntry(message);
      for (const walk of here) {
        const { session } = walk.line;
        if (entry?.session === session && !walk.entries.has(entry.id)) walk.entries.set(entry.id, entry);
        walk.isDone = parent === null || isStartOf({ entry }, session);
        if (!walk.isDone && parent !== null) wait(walk, parent);
      }
      if (waiting.size === 0) return;
    }
  } catch (error) {
    // Each line that is not done is read as far as it goes, or says what is damaged.
    if (!isDamage(error)) throw error;
  }
}

function toAnswers(entries: readonly Entry[]): LineAnswers {
  const opening = new Map<TurnName, string>();
  for (const { turn, id } of entries) if (turn !== null && !opening.has(turn)) opening.set(turn, id);
  const answers = entries.filter(isAnswer).map(({ id, kind, provider, model, tokens, costUsd }) => ({
    id,
    kind,
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(costUsd === undefined ? {} : { costUsd }),
  }));
  return { answers, opening: [...opening.values()] };
}

const cacheKey = 'line-answers';
/** To write all of them takes longer than to read one of so many again. */
const rewrittenFor = 1000;

function toKey({ session, tip }: LineTip): string {
  return `${tip} ${session}`;
}

async function readKept(cache: Cache): Promise<Map<string, LineAnswers>> {
  const kept = await cache.read(cacheKey);
  if (kept === null) return new Map();
  return new Map(JSON.parse(new TextDecoder().decode(kept)) as [string, LineAnswers][]);
}

async function keep(cache: Cache, found: ReadonlyMap<LineTip, LineAnswers>): Promise<void> {
  const rows = Array.from(found, ([line, answers]) => [toKey(line), answers]);
  await cache.write(cacheKey, [new TextEncoder().encode(JSON.stringify(rows))]);
}
