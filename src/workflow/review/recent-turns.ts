/** Reads a line's newest turns that fit into a given number of characters, masked. */
import { compareTurns, type TurnName } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import { cutText } from '../../session/text/clip-line.ts';
import { renderTurn, type HistoryPart } from '../../session/context/history-text.ts';
import { readLineTurns, readParts } from '../../view/view.ts';
import type { ConversationTarget } from '../line/read-conversation.ts';

export interface RecentTurns {
  /** Oldest first. */
  turns: TurnName[];
  text: string;
  /** Turns that are cut or incomplete. */
  cut: TurnName[];
  /** The newest omitted turn; null when there is none. */
  next: TurnName | null;
  total: number;
}

/** The number of characters to show of a call or its result. */
const maxCall = 400;
const leastPart = 400;

/** Reads the turns before `before`. Always shows at least one turn, cut if necessary. */
export async function readRecentTurns(
  project: Project,
  { source, session }: Pick<ConversationTarget, 'source' | 'session'>,
  { before, maxChars }: { before?: TurnName | undefined; maxChars: number },
): Promise<RecentTurns> {
  const { turns: all } = await readLineTurns(project.repository.store, source);
  const newestFirst = all.filter((turn) => before === undefined || compareTurns(turn, before) < 0).toReversed();
  const shown: { turn: TurnName; text: string }[] = [];
  const cut: TurnName[] = [];
  let room = maxChars;
  for (const turn of newestFirst) {
    const { parts } = await readParts(project.repository.store, { commit: source, session, turn });
    const rendered = await renderWithin(project, turn, parts, room);
    if (rendered === null && shown.length > 0) break;
    const { text, isCut } = rendered ?? (await renderBeginning(project, turn, parts, room));
    shown.unshift({ turn, text });
    if (isCut) cut.unshift(turn);
    room -= text.length;
    if (room <= leastPart) break;
  }
  return {
    turns: shown.map(({ turn }) => turn),
    text: shown.map(({ text }) => text).join('\n'),
    cut,
    next: newestFirst[shown.length] ?? null,
    total: all.length,
  };
}

/** Returns null when the turn does not fit, even without tool calls and their results. */
async function renderWithin(project: Project, turn: TurnName, parts: readonly HistoryPart[], room: number) {
  const most = Math.max(leastPart, Math.floor(room / 3));
  for (const withCalls of [true, false]) {
    const kept = withCalls ? parts : parts.filter((part) => !isCall(part));
    const least = kept.reduce((sum, part) => sum + Math.min(part.text.length, isCall(part) ? maxCall : most), 0);
    // A masked text may be shorter, but rarely by half.
    if (least > 2 * room) continue;
    const { text, isCut } = await render(project, turn, kept, most);
    const left = parts.length - kept.length;
    if (text.length <= room)
      return { text: left === 0 ? text : `${text}\n${toLeftOut(turn, left)}`, isCut: isCut || left > 0 };
  }
  return null;
}

/** A turn's first and last words are the most informative. */
async function renderBeginning(project: Project, turn: TurnName, parts: readonly HistoryPart[], room: number) {
  const said = parts.filter((part) => !isCall(part));
  const ends = said.length > 2 ? [...said.slice(0, 1), ...said.slice(-1)] : said;
  const { text } = await render(project, turn, ends, Math.max(leastPart, Math.floor(room / 3)));
  const left = parts.length - ends.length;
  return { text: `${cutText(text, room)}\n${left === 0 ? '' : toLeftOut(turn, left)}`, isCut: true };
}

async function render(project: Project, turn: TurnName, parts: readonly HistoryPart[], most: number) {
  let isCut = false;
  const masked = await Promise.all(
    parts.map(async (part) => {
      const { text } = await project.masker.mask(part.text, part.file);
      const limit = isCall(part) ? maxCall : most;
      isCut ||= text.length > limit;
      return { ...part, text: cutText(text, limit) };
    }),
  );
  return { text: renderTurn({ turn, parts: masked }), isCut };
}

function isCall({ tool, title }: HistoryPart): boolean {
  return tool !== undefined || title.startsWith('Result');
}

function toLeftOut(turn: TurnName, count: number): string {
  return `[${count} more ${count === 1 ? 'part' : 'parts'} of turn ${turn}: calls of tools, and what was said between them]\n`;
}
