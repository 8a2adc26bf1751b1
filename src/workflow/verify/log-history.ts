/** Derives a log's history section from the line before its entry; renders each turn once. */
import type { Project } from '../../ports/project.ts';
import type { ParsedContextLog } from '../../session/context/context-log-parse.ts';
import { clippedTo, countMasked, historySection, type LogSection } from '../../session/context/context-log-sections.ts';
import { joinHistory, parseLeftOut } from '../../session/context/history-text.ts';
import { sessionDir, type Oid, type TurnName } from '../../names.ts';
import { readEarlierOfTurn, readNewestTurns, withoutMasks, type HistoryTurn } from '../context/read-history.ts';
import type { LineState } from '../../view/view.ts';
import { isMaskedFrom } from './compare-section.ts';
import type { Expected } from './verify.ts';

export interface Histories {
  /** Returns the expected section; `state` is the state at the entry's parent. */
  expect(state: LineState, parsed: ParsedContextLog, section: LogSection): Promise<Expected>;
  /** Reads the turn's own records before its message, unmasked. */
  earlier(
    state: LineState,
    parsed: ParsedContextLog,
    message: string,
  ): Promise<{ text: string; masked: number } | null>;
  isExpected(state: LineState, turn: TurnName): boolean;
}

/** Beyond this many characters, drops all cached texts, because memory is limited. */
const maxKept = 64 * 1024 * 1024;

export function openHistories(given: Project): Histories {
  // For text that was masked when the log was made, compares the parts around its masks (`isMaskedFrom`).
  const project = withoutMasks(given);
  // teddy renders many logs at the same time, and most of them show the same turns.
  const texts = new Map<string, Promise<string>>();
  let kept = 0;

  function renderTurn(
    state: LineState,
    turn: TurnName,
    { tree, clipped }: { tree: Oid | undefined; clipped: number | undefined },
  ): Promise<string> {
    const key = `${tree} ${clipped}`;
    const known = tree === undefined ? undefined : texts.get(key);
    if (known !== undefined) return known;
    const rendering = readNewestTurns(project, state, [turn], toLimit(clipped)).then(([shown]) => toShown(shown));
    if (tree !== undefined) keep(key, rendering);
    return rendering;
  }

  function keep(tree: string, rendering: Promise<string>): void {
    if (kept > maxKept) {
      texts.clear();
      kept = 0;
    }
    texts.set(tree, rendering);
    rendering.then(
      (text) => (kept += text.length),
      // A later attempt may succeed.
      () => texts.delete(tree),
    );
  }

  async function readTrees({ entryOid, session }: LineState, shown: readonly string[]): Promise<Map<string, Oid>> {
    const dir = await project.repository.store.readDir(entryOid, sessionDir(session));
    const wanted = (dir?.entries ?? []).filter(({ name }) => shown.includes(name));
    return new Map(wanted.map(({ name, oid }) => [name, oid]));
  }

  const earlier: Histories['earlier'] = async (state, { frontMatter: { turn, mode }, sections }, message) => {
    const { latest } = state;
    if (latest?.turn !== turn) return null;
    const limit = toLimit(clippedTo(sections));
    const own = await readEarlierOfTurn(project, latest, { message, mode, limit });
    return own && { ...own, text: toShown(own) };
  };

  return {
    earlier,
    async expect(state, parsed, section) {
      const { turn } = parsed.frontMatter;
      const clipped = clippedTo([section]);
      const own = await earlier(state, parsed, parsed.sections.at(-1)?.body ?? '');
      const older = state.turns.filter((name) => name !== turn).toReversed();
      const newestFirst = [...(own === null ? [] : [turn]), ...older];
      const count = countShown(section.body, newestFirst);
      if (count === null) return { kind: 'wrong', message: 'It leaves out turns that are not on the line.' };
      const shown = newestFirst.slice(0, count);
      const trees = await readTrees(state, shown);
      const rendered = await Promise.all(
        shown.map((name) =>
          own !== null && name === turn ? own.text : renderTurn(state, name, { tree: trees.get(name), clipped }),
        ),
      );
      const text = joinHistory(newestFirst.slice(count).toReversed(), rendered.toReversed());
      const { body } = historySection({ text, masked: 0 });
      // A mask's length differs from the text that it replaces, so a text clipped after a mask is clipped elsewhere.
      const isProvable = clipped === undefined || countMasked([section]) === 0 || isMaskedFrom(section.body, body);
      return isProvable ? { kind: 'text', body } : { kind: 'unknown' };
    },
    isExpected: (state, turn) => state.turns.some((name) => name !== turn),
  };
}

function toLimit(clipped: number | undefined): number {
  return clipped ?? Number.POSITIVE_INFINITY;
}

function toShown(turn: HistoryTurn | undefined): string {
  return turn?.clipped?.text ?? turn?.text ?? '';
}

/** Returns the number of newest turns that fit in; the first line names the others. */
function countShown(body: string, newestFirst: readonly TurnName[]): number | null {
  const last = parseLeftOut(body);
  if (last === null) return newestFirst.length;
  const newest = newestFirst.findIndex((name) => name === last);
  return newest === -1 ? null : newest;
}
