/** One turn of a line: what was said, the plan, and what running it did. */
import { captureSource, type TranscriptRecord } from '../../conversation/record.ts';
import { summarizeTurn, type TurnSummary } from '../../conversation/read-line.ts';
import { parseReport } from '../../plan/report-schema.ts';
import type { Report } from '../../plan/report.ts';
import type { Project } from '../../ports/project.ts';
import type { EntryKind } from '../../session/entry.ts';
import { toUndoneBy } from './turn.ts';
import type { Oid, SessionId, TurnName } from '../../names.ts';
import type { LoggedEntry } from '../../session/logged-entry.ts';
import { readStarts } from '../../session/session-starts.ts';
import { listTurn } from '../line/read.ts';
import { readTurnVerdicts, type Verdict } from '../line/read-verdicts.ts';
import { maxShownText, readTurnTexts, type CutFile } from './read-turn-texts.ts';
import { sumSpent, type Spending } from '../../session/spending.ts';
import { diffFiles } from './diff-files.ts';
import { findTurnOf, readTurnEntries, type FoundTurn } from './find-turn.ts';

export interface ShownTurn extends TurnSummary {
  session: SessionId;
  line: string;
  turn: TurnName;
  plan: string | null;
  report: Report | null;
  /** Unified diff of what the report says was changed. */
  diff: string;
  /** The commits of the turn, oldest first. */
  entries: ShownEntry[];
  /** Who answered, of the last answer; of a captured turn, the program that was followed. Null: nobody has. */
  agent: string | null;
  provider: string | null;
  model: string | null;
  /** The cost of all its answers, as far as the endpoint has reported it. */
  spent: Spending;
  /** The code of the turn was taken back by this commit. */
  undoneBy: Oid | null;
  /** Only some of it is taken back, since this commit. */
  partlyUndoneBy: Oid | null;
  /** The verdicts on its plan, oldest first. */
  verdicts: Verdict[];
  /** With `bounded`: the files whose long texts end with how many characters are left out. */
  cut: CutFile[];
}

interface ShownEntry {
  commit: Oid;
  kind: EntryKind;
  /** ISO 8601. */
  time: string;
  title: string;
}

/**
 * Without a turn, the last one of the line. `turn` may also be a line or a commit: then the last turn there, as far as it had
 * come by then. `bounded`: no more of a long text is held than a person reads. Throws UNKNOWN_TURN, and what `findRecorded` throws.
 */
export async function showTurn(
  project: Project,
  request: { selector?: string | undefined; turn?: string | undefined; bounded?: boolean },
): Promise<ShownTurn> {
  const { store } = project.repository;
  const found = await findTurnOf(project, { text: request.turn, selector: request.selector });
  const { session, state, turn: name } = found;
  const { entryOid: commit } = state;
  const listed = await listTurn(store, commit, session, name);
  const [texts, entries] = await Promise.all([
    readTurnTexts(
      store,
      { commit, session, turn: name, entries: listed },
      request.bounded === true ? maxShownText : Infinity,
    ),
    readTurnEntries(store, found),
  ]);
  const { plan, cut } = texts;
  const { records } = texts.transcript;
  const report = texts.report === null ? null : parseReport(texts.report);
  const diffs = report === null ? [] : await diffFiles(store, report.changes);
  const described = describeEntries(entries);
  return {
    session,
    line: found.line.name,
    turn: name,
    ...summarizeTurn(name, records, { plan, hasReport: report !== null }),
    plan,
    report,
    diff: diffs.map(({ diff }) => diff).join(''),
    ...described,
    verdicts: await readTurnVerdicts(project, { session, turn: name }, entries),
    agent: described.agent ?? (await findFollowed(project, found, entries, records)),
    cut,
  };
}

/** The program whose session was captured, where this turn was: a later one may be of teddy's own. */
async function findFollowed(
  project: Project,
  { session, state }: FoundTurn,
  entries: readonly LoggedEntry[],
  records: readonly TranscriptRecord[],
): Promise<string | null> {
  const created = entries.find(({ entry }) => entry !== null)?.entry?.created;
  const isFollowed = records.some((record) => 'source' in record && record.source === captureSource);
  if (created === undefined || !isFollowed) return null;
  const starts = await readStarts(project, [{ session, oid: state.entryOid, created }]);
  return starts.get(session)?.agent ?? null;
}

type OfEntries = Pick<ShownTurn, 'entries' | 'agent' | 'provider' | 'model' | 'spent' | 'undoneBy' | 'partlyUndoneBy'>;

function describeEntries(logged: readonly LoggedEntry[]): OfEntries {
  const all = logged.flatMap(({ entry }) => entry ?? []);
  const answered = all.findLast(({ model }) => model !== undefined);
  return {
    entries: logged.flatMap(({ commit, time, entry }) =>
      entry === null ? [] : [{ commit, kind: entry.kind, time, title: entry.title }],
    ),
    agent: answered?.agent ?? null,
    provider: answered?.provider ?? null,
    model: answered?.model ?? null,
    spent: sumSpent(all),
    ...toUndoneBy(logged),
  };
}
