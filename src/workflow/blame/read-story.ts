/** The story of the turn that brought a line: who asked for what, what was planned, who approved it, what happened. */
import { TeddyError } from '../../errors.ts';
import { decodeTranscript } from '../../conversation/decode-transcript.ts';
import type { TranscriptRecord } from '../../conversation/record.ts';
import { decodeText } from '../../plan/decode-text.ts';
import type { Report } from '../../plan/report.ts';
import { parseReport } from '../../plan/report-schema.ts';
import type { Project } from '../../ports/project.ts';
import type { Entry, VerdictWord } from '../../session/entry.ts';
import { parseIdent } from '../../session/logged-entry.ts';
import { joinPath, turnDir, type Oid, type RepoPath, type SessionId, type TurnName } from '../../names.ts';
import { maskString } from '../line/mask-text.ts';
import { readTurnVerdicts } from '../line/read-verdicts.ts';
import { decodeStep, type BlameSource, type CodeStep, type CodeSteps } from './code-steps.ts';

export interface TurnStory {
  session: SessionId;
  turn: TurnName;
  /** The commit that brought the code. */
  commit: Oid;
  /** The other agent whose session it is; null: teddy's own. */
  agent: string | null;
  /** Null: nobody has said anything in the turn. */
  asked: Asked | null;
  /** The model that answered, as its endpoint calls it; null: nothing says which. */
  model: string | null;
  provider: string | null;
  /** Null: the turn has no plan, as in a conversation. */
  plan: { title: string; actions: string[] } | null;
  approvals: Approval[];
  /** How the run of the plan ended; null: there was none. */
  status: string | null;
  /** The plan did this to the file. */
  actions: DoneAction[];
}

interface Asked {
  by: string;
  /** ISO 8601. */
  at: string;
  text: string;
}

export interface Approval {
  by: string;
  /** `asked`: about each action, as it was run. `flag`: by `-y`, for all at once. `verdict`: on the plan, as an entry of its own. */
  how: 'asked' | 'flag' | 'verdict';
  verdict: VerdictWord;
  at: string;
  text: string | null;
}

interface DoneAction {
  index: number;
  type: string;
  status: string;
  description: string | null;
  /** The user changed it before it ran. */
  isEdited: boolean;
}

/** A turn of a captured session may have thousands of entries: its story is told by the last ones, and its first words. */
const maxEntries = 256;

export interface TurnEntry {
  oid: Oid;
  entry: Entry;
  author: string;
}

/** `path`: the file whose lines are told of. Texts are masked. */
export async function readTurnStory(
  project: Project,
  { agents, originals }: CodeSteps,
  { oid, entry: id, session, turn, seconds }: CodeStep & { turn: TurnName },
  path: RepoPath,
): Promise<TurnStory> {
  const origin = originals.get(id ?? '') ?? oid;
  const [entries, records, report] = await Promise.all([
    readTurnEntries(project, origin, session, turn),
    readRecords(project, origin, session, turn),
    readReport({ repository: project.repository }, { oid, session, turn }),
  ]);
  const answered = entries.find(({ entry }) => entry.model !== undefined && entry.kind !== 'message')?.entry;
  const plan = entries.find(({ entry }) => entry.kind === 'plan')?.entry;
  const runner = entries.find(({ oid: commit, entry }) => commit === origin && entry.kind === 'report');
  const steps = entries.map(({ oid: commit, entry }) => ({ commit, entry })).toReversed();
  const verdicts = await readTurnVerdicts(project, { session, turn }, steps);
  const ran = runner === undefined || report === null ? [] : toRun(report, runner.author, seconds);
  return {
    session,
    turn,
    commit: oid,
    agent: agents.get(session) ?? null,
    asked: await toAsked(project, entries, records),
    model: answered?.model ?? report?.plan.model ?? null,
    provider: answered?.provider ?? null,
    plan: plan === undefined ? null : { title: plan.title, actions: plan.details },
    approvals: [
      ...(await Promise.all(
        verdicts.map(async ({ author, verdict, at, text }) => ({
          by: author.name,
          how: 'verdict' as const,
          verdict,
          at,
          text: text === null ? null : await maskString(project.masker, text),
        })),
      )),
      ...ran,
    ],
    status: report?.run_summary.status ?? null,
    actions: await toActions(project, report, path),
  };
}

/** Newest first, the commit's own entry included. */
export async function readTurnEntries(
  { repository: { store } }: BlameSource,
  from: Oid,
  session: SessionId,
  turn: TurnName,
): Promise<TurnEntry[]> {
  const entries: TurnEntry[] = [];
  for await (const { oid, commit } of store.firstParents(from)) {
    const entry = decodeStep(commit.message);
    // The user's own commits and edits stand between the entries of a turn.
    if (entry !== null && entry.kind !== 'snapshot' && (entry.session !== session || entry.turn !== turn)) break;
    if (entry?.turn === turn) entries.push({ oid, entry, author: commit.author });
    if (entries.length === maxEntries) break;
  }
  return entries;
}

async function readRecords(
  { repository: { store } }: Project,
  commit: Oid,
  session: SessionId,
  turn: TurnName,
): Promise<TranscriptRecord[]> {
  const file = await store.readFile(commit, joinPath(turnDir(session, turn), 'transcript.jsonl'));
  return file === null ? [] : decodeTranscript(decodeText(file.bytes) ?? '').records;
}

async function toAsked(
  project: Project,
  entries: readonly TurnEntry[],
  records: readonly TranscriptRecord[],
): Promise<Asked | null> {
  const said = records.flatMap((record) =>
    record.type === 'user' && record.source !== 'report' && 'content' in record.message ? [record] : [],
  );
  const [first] = said;
  if (first === undefined) return null;
  const opener = entries.findLast(({ entry }) => entry.kind === 'message') ?? entries.at(-1);
  const texts = said.map(({ message }) => ('content' in message ? message.content : ''));
  return {
    by: opener === undefined ? '' : parseIdent(opener.author).name,
    at: first.timestamp,
    text: await maskString(project.masker, texts.join('\n\n')),
  };
}

/** The author of the report is who ran the plan. */
function toRun(
  { action_logs: logs, run_summary: { end_time: at } }: Report,
  author: string,
  seconds: number,
): Approval[] {
  const by = parseIdent(author).name;
  const has = (who: string) => logs.some(({ approved_by: one }) => one === who);
  const how = has('user') ? 'asked' : has('flag') ? 'flag' : null;
  if (how === null) return [];
  return [{ by, how, verdict: 'approved', at: at || new Date(seconds * 1000).toISOString(), text: null }];
}

async function toActions(project: Project, report: Report | null, path: RepoPath): Promise<DoneAction[]> {
  if (report === null) return [];
  const changed = report.changes.filter((change) => change.path === path).map(({ action }) => action);
  const own = report.action_logs.filter(
    ({ index, params }) => changed.includes(index) || (params['file_path'] === path && 'file_path' in params),
  );
  return Promise.all(
    own.map(async ({ index, action_type: type, status, params, modified_by_user: isEdited = false }) => {
      const text = params['description'];
      const description = typeof text === 'string' ? await maskString(project.masker, text) : null;
      return { index, type, status, description, isEdited };
    }),
  );
}

export type TurnAt = Pick<CodeStep, 'oid' | 'session'> & { turn: TurnName };

/** Null: there is no such file, or it is no text. */
export async function readTurnFile(
  { repository: { store } }: BlameSource,
  { oid, session, turn }: TurnAt,
  name: string,
): Promise<string | null> {
  const file = await store.readFile(oid, joinPath(turnDir(session, turn), name));
  return file === null ? null : decodeText(file.bytes);
}

/** Null: there is none, or it is damaged. */
export async function readReport(source: BlameSource, step: TurnAt): Promise<Report | null> {
  const text = await readTurnFile(source, step, 'report.md');
  try {
    return text === null ? null : parseReport(text);
  } catch (error) {
    if (error instanceof TeddyError) return null;
    throw error;
  }
}

/** The lines of the transcript that call tools; none: the turn has brought no code, or the step is of none. */
export async function readCalls(source: BlameSource, { oid, session, turn }: CodeStep): Promise<string[]> {
  const text = turn === null ? null : await readTurnFile(source, { oid, session, turn }, 'transcript.jsonl');
  return text?.split('\n').filter((line) => line.includes('"type":"tool_use"')) ?? [];
}
