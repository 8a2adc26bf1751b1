/**
 * Omits files in the model's own list from a request that has no room for them. Files that the user's lists name always
 * stay.
 */
import type { Store } from '../../ports/git.ts';
import type { ShownFile } from '../../session/context/context-files.ts';
import { countTokens, fileSection, type HistoryText } from '../../session/context/context-log-sections.ts';
import { formatCount } from '../../session/text/format-count.ts';
import { renderPathWord } from '../../session/paths/paths.ts';
import type { RepoPath, TurnName } from '../../names.ts';
import { countBytes } from '../../session/text/bytes.ts';
import { countFitting } from '../../session/context/budget.ts';
import type { ContextLog } from '../../session/context/context-log.ts';
import { joinHistory, renderLeftOut } from '../../session/context/history-text.ts';
import { countClipped, type HistoryTurn } from './read-history.ts';

interface FittedFiles {
  /** All files, in order; omitted files show only their size. */
  files: ShownFile[];
  leftOut: ReadonlySet<string>;
  /** One sentence for each omitted file. */
  notes: string[];
}

interface Removable {
  at: number;
  tokens: number;
  /** The number of tokens that the request saves without the file's text. */
  saved: number;
  listed: ShownFile;
}

/**
 * Omits as little as possible: repeatedly the smallest file that makes the rest fit, or the largest file when none
 * does. `tokens` is the request's size with all files.
 */
export async function fitFiles(
  store: Pick<Store, 'readSize'>,
  files: readonly ShownFile[],
  users: ReadonlySet<string>,
  { tokens, budget }: { tokens: number; budget: number },
): Promise<FittedFiles> {
  const fitted: ShownFile[] = [...files];
  const leftOut: Removable[] = [];
  let excess = tokens - budget;
  const removable = excess > 0 ? await listRemovable(store, files, users) : [];
  while (excess > 0 && removable.length > 0) {
    const enough = removable.findIndex(({ saved }) => saved >= excess);
    const [file] = removable.splice(enough, 1);
    if (!file) break;
    fitted[file.at] = file.listed;
    leftOut.push(file);
    excess -= file.saved;
  }
  return {
    files: fitted,
    leftOut: new Set(leftOut.map(({ listed }) => listed.path)),
    notes: leftOut.map(({ listed, tokens: size }) => {
      const path = renderPathWord(listed.path);
      return `Not shown to the model: ${path} (about ${formatCount(size)} tokens do not fit the budget of ${formatCount(budget)}).`;
    }),
  };
}

/** Sorts by saving, smallest first; `splice(-1, 1)` takes the largest. */
async function listRemovable(
  store: Pick<Store, 'readSize'>,
  files: readonly ShownFile[],
  users: ReadonlySet<string>,
): Promise<Removable[]> {
  const measured = files.map(async (file, at): Promise<Removable | null> => {
    if (file.kind !== 'shown' || users.has(file.path)) return null;
    const path = file.path as RepoPath;
    const bytes = (file.source.kind === 'blob' ? await store.readSize(file.source.oid) : null) ?? countBytes(file.text);
    const listed: ShownFile = { kind: 'not-shown', path, bytes, reason: 'budget' };
    const tokens = countTokens(fileSection(file));
    return { at, tokens, saved: tokens - countTokens(fileSection(listed)), listed };
  });
  const removable = (await Promise.all(measured)).filter((file) => file !== null);
  return removable.filter(({ saved }) => saved > 0).toSorted((a, b) => a.saved - b.saved);
}

/** Fits a line's history into a request: completely, with its large bodies clipped, or without its oldest turns. */
interface HistoryOptions {
  newestFirst: readonly TurnName[];
  /** The turns read so far: at least as many as fit. */
  turns: readonly HistoryTurn[];
  limit: number;
  budget: number;
  /** The number of tokens in the request without history. */
  bare: number;
  render(history: HistoryText): ContextLog;
}

interface FittedHistory {
  log: ContextLog;
  notes: string[];
}

/**
 * Includes the whole history if it fits; otherwise clips its large bodies; otherwise omits its oldest turns. Once teddy
 * omits turns, the next requests omit the same ones until the history no longer fits; then teddy frees a third of the
 * room in one step. The beginning of a request thus stays the same for as long as possible. Returns null when there is
 * no history.
 */
export async function fitHistory(
  { newestFirst, turns, limit, budget, bare, render }: HistoryOptions,
  readCut: () => Promise<string | null>,
): Promise<FittedHistory | null> {
  if (turns.length === 0) return null;
  const isWhole = turns.length === newestFirst.length;
  if (isWhole) {
    const log = render(toHistory(newestFirst, turns));
    if (log.tokens <= budget) return { log, notes: [] };
  }
  const rendered = new Map<number, ContextLog>();
  const renderClipped = (kept: number) => {
    const log = rendered.get(kept) ?? render(toHistory(newestFirst, turns.slice(0, kept), limit));
    rendered.set(kept, log);
    return log;
  };
  const finish = (kept: number): FittedHistory => {
    const clipped = turns.slice(0, kept).flatMap((turn) => turn.clipped?.leftOut ?? []);
    const leftOut = newestFirst.slice(kept).toReversed();
    const notes = [
      ...clipped.map((what) => `Shown by its beginning and end: ${what}.`),
      ...(leftOut.length === 0 ? [] : [renderLeftOut(leftOut)]),
    ];
    return { log: renderClipped(kept), notes };
  };
  if (isWhole && renderClipped(turns.length).tokens <= budget) return finish(turns.length);
  const cut = await readCut();
  const before = cut === null ? -1 : newestFirst.findIndex((name) => name === cut);
  if (before > 0 && before <= turns.length && renderClipped(before).tokens <= budget) return finish(before);
  const tokens = turns.map(countClipped);
  const target = bare + Math.floor(((budget - bare) * 2) / 3);
  const measure = (kept: number) => renderClipped(kept).tokens;
  // Showing the newest turn matters more than free room.
  return finish(countFitting(tokens, target, measure) || countFitting(tokens, budget, measure));
}

/** Clips large bodies to `limit`; without a limit, clips nothing. */
export function toHistory(newestFirst: readonly TurnName[], kept: readonly HistoryTurn[], limit?: number): HistoryText {
  const isClipped = limit !== undefined && kept.some(({ clipped }) => clipped !== null);
  const texts = kept.map(({ text, clipped }) => (isClipped && clipped !== null ? clipped.text : text)).toReversed();
  return {
    text: joinHistory(newestFirst.slice(kept.length).toReversed(), texts),
    masked: kept.reduce((sum, { masked }) => sum + masked, 0),
    clipped: isClipped ? limit : undefined,
  };
}
