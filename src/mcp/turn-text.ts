/** The texts of a turn that a client can read, without secrets. */
import { parseTurnName } from '../names.ts';
import type { Project } from '../ports/project.ts';
import { renderPart, type HistoryPart } from '../session/history-text.ts';
import type { ConversationTarget } from '../workflow/line/read-conversation.ts';
import { maxShownText, readParts, readTurnFile } from '../view/view.ts';
import { showTurn, type ShownTurn } from '../workflow/review/show-turn.ts';
import { TeddyError } from '../errors.ts';

export const turnParts = ['conversation', 'message', 'plan', 'report', 'diff', 'request'] as const;
export type TurnPart = (typeof turnParts)[number];

export interface ReadPart {
  shown: ShownTurn;
  text: string;
  /** Commands that print files which are too long. */
  cut: string[];
}

/**
 * Without a turn, the last one. Of what was said no more is masked than `most` characters need. Throws UNKNOWN_TURN; also where the
 * turn has no such part.
 */
export async function readPart(
  project: Project,
  { line, session }: Pick<ConversationTarget, 'line' | 'session'>,
  turn: string | undefined,
  part: TurnPart,
  most = Infinity,
): Promise<ReadPart> {
  const selector = line ?? session;
  const name = turn === undefined ? undefined : parseTurnName(turn);
  const shown = await showTurn(
    project,
    name === undefined ? { turn: selector, bounded: true } : { selector, turn: name, bounded: true },
  );
  const cut = shown.cut.map(({ command }) => command);
  const only = async (text: string | null, file?: string): Promise<ReadPart> => {
    if (text !== null) return { shown, text: (await project.masker.mask(text, file)).text, cut };
    const hint = 'session_show without `part` shows what was said in the turn.';
    throw new TeddyError('UNKNOWN_TURN', `Turn ${shown.turn} of ${shown.session} has no ${part}.`, hint);
  };
  const commit = shown.entries.at(-1)?.commit;
  const { store } = project.repository;
  const at = { session: shown.session, turn: shown.turn };
  const readFile = async (file: string) =>
    commit === undefined
      ? null
      : ((await readTurnFile(store, { ...at, commit }, file))?.slice(0, 4 * maxShownText) ?? null);
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
      const { parts } = commit === undefined ? { parts: shown.said } : await readParts(store, { ...at, commit });
      return { shown, text: await maskParts(project, parts, most), cut };
    }
  }
}

/** Part by part, and no further than it is asked for. */
async function maskParts({ masker }: Project, parts: readonly HistoryPart[], most: number): Promise<string> {
  let text = '';
  for (const part of parts) {
    if (text.length >= most) break;
    const { text: masked } = await masker.mask(part.text, part.file);
    text += `${text === '' ? '' : '\n'}${renderPart({ ...part, text: masked })}`;
  }
  return text;
}
