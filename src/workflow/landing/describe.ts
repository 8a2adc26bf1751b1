/** Describes, for a landing's message, the turns whose code it brings. */
import type { Project } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entry.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';
import type { LandableLine } from './landing.ts';

const shownTurns = 20;

/** Subject and body, of what came after `base`. The subject is the newest plan's title; the body lists several turns. */
export async function describeLanding(project: Project, line: LandableLine, base: Oid | null): Promise<string> {
  const { turns, others } = await readTitles(project, line, base);
  const [only, second] = turns.length > 0 ? turns.map(({ title }) => title) : others;
  if (only !== undefined && second === undefined) return only;
  const told = turns.length > 0 ? turns.map(({ turn, title }) => `${turn} ${title}`) : others;
  const rows = told.slice(0, shownTurns).map((row) => `- ${row}`);
  const more = told.length - rows.length;
  const body = [...rows, ...(more > 0 ? [`- and ${more} more ${turns.length > 0 ? 'turns' : 'commits'}`] : [])];
  const newest = turns.at(-1)?.title ?? toWords(line.session);
  return [newest, ...(body.length === 0 ? [] : [body.join('\n')])].join('\n\n');
}

/**
 * Turns that changed code and were not undone, oldest first, each by its plan or else by what it wrote. `others`: the subjects of
 * what changes code besides, as the user's own commits, merges and what was undone.
 */
async function readTitles(
  { repository: { store } }: Project,
  { session, tip }: LandableLine,
  base: Oid | null,
): Promise<{ turns: { turn: TurnName; title: string }[]; others: string[] }> {
  const titles = new Map<TurnName, string>();
  const changing = new Set<TurnName>();
  const undone = new Set<TurnName>();
  const others: string[] = [];
  for await (const { commit } of store.firstParents(tip, base === null ? [] : [base])) {
    const entry = decodeEntry(commit.message);
    const isOwn = entry?.session === session;
    if (!isOwn || entry.kind === 'undo' || entry.kind === 'snapshot') others.push(toSubject(commit.message));
    if (!isOwn || entry.turn === null) continue;
    const { kind, turn, title } = entry;
    if (kind === 'plan' || (kind === 'write' && !titles.has(turn))) titles.set(turn, title);
    if (kind === 'report' || kind === 'write') changing.add(turn);
    if (kind === 'undo') undone.add(turn);
  }
  const found = [...titles].flatMap(([turn, title]) =>
    changing.has(turn) && !undone.has(turn) ? [{ turn, title }] : [],
  );
  return { turns: found.toReversed(), others: others.toReversed() };
}

function toSubject(message: string): string {
  return message.trim().split('\n', 1)[0] ?? '';
}

/** `20260124-add-user-auth` -> `Add user auth`. */
function toWords(session: SessionId): string {
  const words = session.slice('20260124-'.length).replaceAll('-', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
