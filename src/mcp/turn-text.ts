/** The texts of a turn that a client can read; they are not masked yet. */
import { joinPath, parseTurnName, turnDir } from '../names.ts';
import type { Project } from '../ports/project.ts';
import type { HistoryPart } from '../session/history-text.ts';
import type { ConversationTarget } from '../workflow/line/read-conversation.ts';
import { maxShownText } from '../workflow/review/read-turn-texts.ts';
import { showTurn, type ShownTurn } from '../workflow/review/show-turn.ts';
import { readTurnParts } from '../workflow/review/turn-parts.ts';
import { TeddyError } from '../errors.ts';

export const turnParts = ['conversation', 'message', 'plan', 'report', 'diff', 'request'] as const;
export type TurnPart = (typeof turnParts)[number];

export interface ReadPart {
  shown: ShownTurn;
  text: (HistoryPart | { text: string; file?: string })[];
  /** Commands that print files which are too long. */
  cut: string[];
}

/** Without a turn, the last one. Throws UNKNOWN_TURN; also where the turn has no such part. */
export async function readPart(
  project: Project,
  { line, session }: Pick<ConversationTarget, 'line' | 'session'>,
  turn: string | undefined,
  part: TurnPart,
): Promise<ReadPart> {
  const selector = line ?? session;
  const name = turn === undefined ? undefined : parseTurnName(turn);
  const shown = await showTurn(
    project,
    name === undefined ? { turn: selector, bounded: true } : { selector, turn: name, bounded: true },
  );
  const cut = shown.cut.map(({ command }) => command);
  const only = (text: string | null, file?: string): ReadPart => {
    if (text !== null) return { shown, text: [file === undefined ? { text } : { text, file }], cut };
    const hint = 'session_show without `part` shows what was said in the turn.';
    throw new TeddyError('UNKNOWN_TURN', `Turn ${shown.turn} of ${shown.session} has no ${part}.`, hint);
  };
  const commit = shown.entries.at(-1)?.commit;
  const readFile = async (file: string) =>
    commit === undefined ? null : readBounded(project, joinPath(turnDir(shown.session, shown.turn), file), commit);
  switch (part) {
    case 'message':
      return only(shown.messages.length === 0 ? null : shown.messages.join('\n\n'));
    case 'plan':
      return only(shown.plan, 'plan.md');
    case 'diff':
      return only(shown.diff === '' ? null : shown.diff);
    case 'report':
      return only(await readFile('report.md'), 'report.md');
    case 'request':
      return only(await readFile('_context.log'), '_context.log');
    case 'conversation': {
      const { parts } =
        commit === undefined
          ? { parts: shown.said }
          : await readTurnParts(project, { commit, session: shown.session, turn: shown.turn });
      return { shown, text: [...parts], cut };
    }
  }
}

async function readBounded(
  { repository: { store } }: Project,
  path: Parameters<typeof store.readFile>[1],
  commit: Parameters<typeof store.readFile>[0],
): Promise<string | null> {
  const found = await store.readFile(commit, path);
  return found === null ? null : new TextDecoder().decode(found.bytes.subarray(0, 4 * maxShownText));
}
