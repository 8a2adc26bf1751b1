/** Reads the story of the turn that introduced a line: the request, the plan, the approval, and the result. */
import { TeddyError } from '../../errors.ts';
import type { Report } from '../../plan/report/report.ts';
import { parseReport } from '../../plan/report/report-yaml.ts';
import type { Project } from '../../ports/project.ts';
import type { VerdictWord } from '../../session/entries/entry.ts';
import { toAuthor, type CommitAuthor } from '../../session/entries/logged-entry.ts';
import { turnDir, type Oid, type RepoPath, type SessionId, type TurnName } from '../../names.ts';
import {
  readSession,
  readTurn,
  readTurnFile,
  readTurnVerdicts,
  type Step,
  type Turn,
  type TurnAt,
} from '../../view/view.ts';
import { maskString } from '../line/mask-text.ts';
import type { BlameSource, CodeStep, CodeSteps } from './code-steps.ts';

export interface TurnStory {
  session: SessionId;
  turn: TurnName;
  /** The commit that introduced the code. */
  commit: Oid;
  /** The other agent that owns the session; null for teddy. */
  agent: string | null;
  /** Null when nobody said anything in the turn. */
  asked: Asked | null;
  /** The model that answered, as its endpoint calls it; null when no record names it. */
  model: string | null;
  provider: string | null;
  /** Null when the turn has no plan, as in a conversation. */
  plan: { title: string; actions: string[] } | null;
  approvals: Approval[];
  /** How the plan's run ended; null when there was no run. */
  status: string | null;
  /** The plan's actions on the file. */
  actions: DoneAction[];
}

interface Asked {
  /** Null when no commit records who asked. */
  author: CommitAuthor | null;
  /** In ISO 8601. */
  at: string;
  text: string;
}

export interface Approval {
  author: CommitAuthor;
  /**
   * `asked`: the user confirmed each action as it ran. `flag`: `-y` approved all of them together. `verdict`: a
   * separate entry approved the plan.
   */
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
  /** True when the user changed the action before it ran. */
  isEdited: boolean;
}

/**
 * A captured session's turn may have thousands of entries, so teddy reads its story from the last entries and its first
 * message.
 */
const maxSteps = 256;

/** Masks all texts. `path` is the file with the lines in question. */
export async function readTurnStory(
  project: Project,
  { agents, originals }: CodeSteps,
  { oid, entry: id, session, turn, seconds }: CodeStep & { turn: TurnName },
  path: RepoPath,
): Promise<TurnStory> {
  const { store } = project.repository;
  const origin = originals.get(id ?? '') ?? oid;
  const line = await readSession(store, { session, tip: origin }, { only: turn, most: maxSteps });
  // A copy of the commit may not have the session's files.
  const directory = await store.readDir(origin, turnDir(session, turn));
  const [read, report] = await Promise.all([
    readTurn(store, line, turn, { entries: directory?.entries ?? [] }),
    readReport({ repository: project.repository }, { commit: oid, session, turn }),
  ]);
  const { steps } = read;
  const answered = steps.findLast(({ entry }) => entry?.model !== undefined && entry.kind !== 'message')?.entry;
  const plan = steps.findLast(({ entry }) => entry?.kind === 'plan')?.entry;
  const runner = steps.find(({ commit, entry }) => commit === origin && entry?.kind === 'report');
  const verdicts = await readTurnVerdicts(project, { session, turn }, steps);
  const ran = runner === undefined || report === null ? [] : toRun(report, runner.ident, seconds);
  return {
    session,
    turn,
    commit: oid,
    agent: agents.get(session) ?? null,
    asked: await toAsked(project, read),
    model: answered?.model ?? report?.plan.model ?? null,
    provider: answered?.provider ?? null,
    plan: plan == null ? null : { title: plan.title, actions: plan.details },
    approvals: [
      ...(await Promise.all(
        verdicts.map(async ({ author, verdict, at, text }) => ({
          author,
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

/** Reads a turn's steps up to one of its commits, oldest first. Reads only the last steps when a turn has very many. */
export async function readTurnSteps(
  { repository: { store } }: BlameSource,
  tip: Oid,
  session: SessionId,
  turn: TurnName,
): Promise<Step[]> {
  const { turns } = await readSession(store, { session, tip }, { only: turn, most: maxSteps });
  return turns.find((one) => one.turn === turn)?.steps ?? [];
}

async function toAsked(project: Project, { steps, records }: Turn): Promise<Asked | null> {
  const said = records.flatMap((record) =>
    record.type === 'user' && record.source !== 'report' && 'content' in record.message ? [record] : [],
  );
  const [first] = said;
  if (first === undefined) return null;
  const opener = steps.find(({ entry }) => entry?.kind === 'message') ?? steps[0];
  const texts = said.map(({ message }) => ('content' in message ? message.content : ''));
  return {
    author: opener === undefined ? null : toAuthor(opener.ident),
    at: first.timestamp,
    text: await maskString(project.masker, texts.join('\n\n')),
  };
}

/** The report's author is the person who ran the plan. */
function toRun(
  { action_logs: logs, run_summary: { end_time: at } }: Report,
  author: string,
  seconds: number,
): Approval[] {
  const has = (who: string) => logs.some(({ approved_by: one }) => one === who);
  const how = has('user') ? 'asked' : has('flag') ? 'flag' : null;
  if (how === null) return [];
  const end = at || new Date(seconds * 1000).toISOString();
  return [{ author: toAuthor(author), how, verdict: 'approved', at: end, text: null }];
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

/** Returns null when there is no report, or the report is damaged. */
export async function readReport({ repository: { store } }: BlameSource, at: TurnAt): Promise<Report | null> {
  const text = await readTurnFile(store, at, 'report.md');
  try {
    return text === null ? null : parseReport(text);
  } catch (error) {
    if (error instanceof TeddyError) return null;
    throw error;
  }
}

/**
 * Reads the transcript lines that call tools; empty when the turn introduced no code, or when the step does not belong
 * to a turn.
 */
export async function readCalls(
  { repository: { store } }: BlameSource,
  { oid: commit, session, turn }: CodeStep,
): Promise<string[]> {
  const text = turn === null ? null : await readTurnFile(store, { commit, session, turn }, 'transcript.jsonl');
  return text?.split('\n').filter((line) => line.includes('"type":"tool_use"')) ?? [];
}
