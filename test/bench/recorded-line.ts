/**
 * A session of many turns, each planned and executed, as the commands would have recorded it: made by the core alone,
 * for `git fast-import`.
 */
import { createHash } from 'node:crypto';
import { encodeRecord } from '../../src/conversation/records/transcript.ts';
import type { KnownRecord } from '../../src/conversation/records/record.ts';
import { newestGrammar } from '../../src/session/text/grammar.ts';
import { parsePlan } from '../../src/plan/parse/parse.ts';
import type { Action } from '../../src/plan/plan.ts';
import { describeRecords } from '../../src/workflow/line/describe-records.ts';
import { labelPlan, labelReport } from '../../src/workflow/line/entry-labels.ts';
import { renderReport } from '../../src/plan/report/report-yaml.ts';
import type { ActionDetails } from '../../src/plan/effects/action-details.ts';
import type { ActionLog, Report, ReportedChange } from '../../src/plan/report/report.ts';
import { toEffect } from '../../src/plan/actions/actions.ts';
import { renderTurnContext } from '../../src/session/context/context-lines.ts';
import { renderContextLog } from '../../src/session/context/context-log.ts';
import { encodeEntry, type Entry } from '../../src/session/entries/entry.ts';
import { attributesPath, attributesText, sessionContextText } from '../../src/session/global/global-files.ts';
import { joinHistory, renderTurn } from '../../src/session/context/history-text.ts';
import { joinPath, sessionDir, toTurnName, turnDir } from '../../src/names.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../../src/names.ts';
import { renderTreeListing } from '../../src/session/paths/tree-listing.ts';
import { toTurnHistory } from '../../src/conversation/history/turn-history.ts';
import { sha256 } from '../../src/system/ids.ts';
import { toParams } from '../../src/plan/actions/actions.ts';
import { findAgent } from '../../src/conversation/prompts/agents.ts';

export const recordedSession = '20260124-bench' as SessionId;
export const recordedRef = `refs/heads/teddy/${recordedSession}`;
/** A turn has a message, a plan and a report. */
export const entriesPerTurn = 3;

const asked = { agent: 'pathfinder', provider: 'openai', model: 'gpt-5' };
const time = '2026-01-24T10:00:00.000Z';
const ident = 'Ada Example <ada@example.org> 1769248800 +0000';
const shownTurns = 5; // of the history

/** The repository, and the next message in it. */
interface MadeLine {
  code: Map<RepoPath, string>;
  /** The text of each turn in a later log. */
  histories: { turn: TurnName; text: string }[];
  /** Last changed by the last turn. */
  touched: RepoPath[];
  commits: string[];
  entries: number;
}

interface MadeTurn {
  turn: TurnName;
  records: KnownRecord[];
  plan: string;
}

/** A stream that makes `refs/heads/main` and the session's branch on it. */
export async function makeRecordedLine(turns: number): Promise<string> {
  const line: MadeLine = { code: new Map(), histories: [], touched: [], commits: [], entries: 0 };
  line.code.set('README.md' as RepoPath, `# Notes\n\n${toProse(0, 300)}\n`);
  line.commits.push(toCommit('refs/heads/main', 'First\n', [...line.code], null));
  addEntry(line, { kind: 'start', turn: null, title: recordedSession, baseBranch: 'main' }, [
    [attributesPath, attributesText],
    ['.teddy/global.context', 'README.md\n'],
    ['.teddy/memos.yaml', ''],
    [joinPath(sessionDir(recordedSession), 'session.context'), sessionContextText],
  ]);
  for (let number = 1; number <= turns; number += 1) await addTurn(line, number);
  return `${line.commits.join('')}done\n`;
}

async function addTurn(line: MadeLine, number: number): Promise<void> {
  const turn = toTurnName(number);
  const message = `Change ${number}: ${toProse(number, 40)}`;
  const plan = toPlan(number, line);
  const said = (type: 'user' | 'assistant', at: number, more: object) =>
    ({ type, id: toId(number * 10 + at), timestamp: time, ...more }) as KnownRecord;
  const records = [
    said('user', 5, { message: { role: 'user', content: message }, source: 'text' }),
    said('assistant', 6, { message: { role: 'assistant', file: 'plan.md' }, source: 'plan' }),
  ];
  addMessage(line, { turn, records, plan }, message);
  const files = toTurnFiles(turn, [
    ['plan.md', plan],
    ['transcript.jsonl', records.map(encodeRecord).join('')],
  ]);
  addEntry(line, { kind: 'plan', turn, ...labelPlan(parsePlan(plan).plan), ...asked, sha256: sha256(plan) }, files);
  await addReport(line, { turn, records, plan });
}

function addMessage(line: MadeLine, { turn, records }: MadeTurn, message: string): void {
  const paths = ['README.md' as RepoPath, ...line.touched];
  const log = toLog(line, turn, message, paths);
  const asking = records.slice(0, 1);
  const files = toTurnFiles(turn, [
    ['_context.log', log],
    ['turn.context', renderTurnContext(paths)],
    ['transcript.jsonl', asking.map(encodeRecord).join('')],
  ]);
  addEntry(line, { kind: 'message', turn, ...describeRecords(asking), ...asked, sha256: sha256(log) }, files);
}

function toLog({ code, histories }: MadeLine, turn: TurnName, message: string, paths: RepoPath[]): string {
  const { text } = findAgent('pathfinder', new Map());
  const shown = histories.slice(-shownTurns);
  const leftOut = histories.slice(0, -shownTurns).map((one) => one.turn);
  const tree = [...code.keys()].sort().map((path) => ({ path, mode: '100644' as const, oid: '' as Oid }));
  const toShown = (path: RepoPath) => {
    const content = code.get(path) ?? '';
    return { kind: 'shown' as const, path, source: toSource(content), text: content, lossy: false, masked: 0 };
  };
  return renderContextLog(
    {
      info: { session: recordedSession, turn, ...asked, parameters: { temperature: 0.2 } },
      system: { text, source: { kind: 'builtin', sha: sha256(text) }, masked: 0 },
      memos: null,
      history:
        shown.length === 0
          ? null
          : {
              text: joinHistory(
                leftOut,
                shown.map((one) => one.text),
              ),
              masked: 0,
            },
      tree: { text: renderTreeListing(tree), masked: 0 },
      files: paths.map(toShown),
      message,
    },
    sha256,
  ).log;
}

async function addReport(line: MadeLine, { turn, records, plan }: MadeTurn): Promise<void> {
  const { plan: parsed } = parsePlan(plan);
  const changes: ReportedChange[] = [];
  const logs: ActionLog[] = [];
  for (const action of parsed.actions) logs.push(await perform(line, action, changes));
  const reported: Report = {
    version: 1,
    session: recordedSession,
    turn,
    plan: { title: parsed.title, sha256: sha256(plan), grammar: newestGrammar, agent: 'pathfinder', model: 'gpt-5' },
    run_summary: { status: 'SUCCESS', start_time: time, end_time: time, error: null },
    memos: { added: [], removed: [], rejected: [] },
    action_logs: logs,
    changes,
    validation_errors: [],
  };
  const report = renderReport(reported);
  line.touched = changes.map(({ path }) => path);
  line.histories.push({ turn, text: renderTurn(toTurnHistory(turn, records, { plan, report })) });
  const files = [
    ...toTurnFiles(turn, [['report.md', report]]),
    ...line.touched.map((path) => [path, line.code.get(path) ?? ''] as const),
  ];
  addEntry(
    line,
    { kind: 'report', turn, ...labelReport(reported), agent: 'pathfinder', status: 'SUCCESS', sha256: sha256(report) },
    files,
  );
}

async function perform({ code }: MadeLine, action: Action, changes: ReportedChange[]): Promise<ActionLog> {
  const { index, type } = action;
  const head = { index, action_type: type, status: 'SUCCESS' as const, params: toParams(action) };
  const toDone = (details?: ActionDetails): ActionLog => ({
    ...head,
    approved_by: 'flag',
    duration_ms: 12,
    ...(details === undefined ? {} : { details }),
  });
  if (type === 'EXECUTE') return toDone({ return_code: 0, stdout: output, stderr: '', timed_out: false });
  const outcome = await toEffect(action, { inspect: async (path) => inspect(code.get(path)) });
  if (!('effect' in outcome) || outcome.effect.kind !== 'write') throw new Error(JSON.stringify(outcome));
  const { path, before, after, matches } = outcome.effect;
  code.set(path, new TextDecoder().decode(after));
  const oids = { before: before && toOid(before), after: toOid(after) };
  changes.push({ path, change: before === null ? 'added' : 'modified', ...oids, action: index });
  const [match] = matches;
  return toDone(match && { match: match.kind, line: match.line });
}

const output = 'ok 1 - adds\nok 2 - removes: nothing left\n\n# tests 2\n# pass 2\n';

function inspect(text: string | undefined) {
  if (text === undefined) return { kind: 'absent' as const };
  return { kind: 'file' as const, bytes: new TextEncoder().encode(text), executable: false };
}

/** A file is made, and changed in the next turn; every fifth turn runs the tests. */
function toPlan(number: number, { touched }: MadeLine): string {
  const path = touched.find((known) => known.startsWith('src/'));
  const isEdit = number % 2 === 0 && path !== undefined;
  const made = `src/part${Math.floor(number / 50)}/step${number}.ts`;
  const content = Array.from(
    { length: 24 },
    (_, at) => `export const value${at} = '${toProse(number + at, 4)}';\n`,
  ).join('');
  const action = isEdit
    ? `### EDIT\n- **File Path:** [${path}](/${path})\n\n#### FIND:\n\`\`\`ts\nexport const value7 = '${toProse(number + 6, 4)}';\n\`\`\`\n#### REPLACE:\n\`\`\`ts\nexport const value7 = 'changed by ${number}';\n\`\`\`\n`
    : `### CREATE\n- **File Path:** [${made}](/${made})\n\n\`\`\`\`ts\n${content}\`\`\`\`\n`;
  const test =
    number % 5 === 0 ? `\n### EXECUTE\n- **Description:** run the tests\n\n\`\`\`sh\nnpm test\n\`\`\`\n` : '';
  return `# Change ${number}\n\n## Rationale\n\n${toProse(number, 60)}\n\n## Action Plan\n\n${action}${test}`;
}

function addEntry(
  line: MadeLine,
  entry: Pick<Entry, 'kind' | 'turn' | 'title'> & Partial<Entry>,
  files: readonly (readonly [path: string, text: string])[],
): void {
  line.entries += 1;
  const message = encodeEntry({
    session: recordedSession,
    created: time,
    details: [],
    id: toId(line.entries),
    ...entry,
  });
  line.commits.push(toCommit(recordedRef, message, files, entry.kind === 'start' ? 'refs/heads/main' : null));
}

function toCommit(
  ref: string,
  message: string,
  files: readonly (readonly [string, string])[],
  from: string | null,
): string {
  const written = files.map(([path, text]) => `M 100644 inline ${path}\n${toData(text)}`);
  return `commit ${ref}\ncommitter ${ident}\n${toData(message)}${from === null ? '' : `from ${from}\n`}${written.join('')}\n`;
}

function toTurnFiles(turn: TurnName, files: [name: string, text: string][]): (readonly [string, string])[] {
  return files.map(([name, text]) => [joinPath(turnDir(recordedSession, turn), name), text]);
}

function toData(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

function toId(number: number): string {
  return `019bf000-0000-7000-8000-${String(number).padStart(12, '0')}`;
}

function toOid(bytes: Uint8Array): Oid {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex') as Oid;
}

function toSource(text: string) {
  return { kind: 'blob' as const, oid: toOid(new TextEncoder().encode(text)) };
}

const words = 'add read route login test file when then the a of server client error value name path check'.split(' ');

function toProse(seed: number, count: number): string {
  return Array.from({ length: count }, (_, at) => words[(seed * 31 + at * at * 7 + at) % words.length]).join(' ');
}
