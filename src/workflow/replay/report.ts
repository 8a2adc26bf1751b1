/** Replays one `report` entry: runs its plan on the parent commit's code, and compares the result with the commit. */
import { handlerOf } from '../../plan/actions/actions.ts';
import { TeddyError } from '../../errors.ts';
import { toGrammar, type Grammar } from '../../session/text/grammar.ts';
import { parseReport } from '../../plan/report/report-yaml.ts';
import { parsePlan } from '../../plan/parse/parse.ts';
import type { Problem } from '../../plan/match/problem.ts';
import type { Action, ParsedPlan } from '../../plan/plan.ts';
import type { ActionDetails } from '../../plan/effects/action-details.ts';
import type { Report } from '../../plan/report/report.ts';
import type { ChangedCommit } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { endLine } from '../../session/context/context-log-sections.ts';
import type { Entry } from '../../session/entries/entry.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { joinPath, turnDir, type Oid, type RepoPath, type TurnName } from '../../names.ts';
import { toText } from '../../view/view.ts';
import { redoActions } from './actions.ts';
import { compareChanges, compareLogs } from './changes.ts';
import { compareFiles } from './files.ts';
import { newFindings, type Findings, type OpenPath, type RecordedRun } from './turn.ts';
import type { CommandReplay } from './commands.ts';
import type { ReplayedTurn, UnprovenPath } from './replayed.ts';
import { runVirtually } from '../../plan/validate.ts';
import type { Inspect } from '../../plan/effects/virtual-files.ts';
import { maskString, maskProblems } from '../line/mask-text.ts';
import { inspectTree } from '../line/inspect-tree.ts';

interface ReportStep extends ChangedCommit {
  entry: Entry & { turn: TurnName };
  /** The entry that added the plan; null when there is none, undefined when it may be before the range. */
  planner: Entry | null | undefined;
  foreign: ReadonlySet<RepoPath>;
}

/** Replays the report; runs commands only if the caller passes `commands`. Throws INTERRUPTED. */
export async function replayReport(
  project: Project,
  step: ReportStep,
  commands: CommandReplay | null,
): Promise<ReplayedTurn> {
  const { entry, oid } = step;
  const findings = newFindings(entry.turn, oid);
  const started = project.clock.now().getTime();
  let run: RecordedRun | null = null;
  let note: string | null = null;
  try {
    run = await readRun(project, step, findings);
    if (run !== null) note = await replayRun(run, findings, commands);
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code !== 'DAMAGED_SESSION') throw error;
    findings.differ({}, error.message);
  }
  const { differences, actions } = findings;
  const unproven = run === null ? [] : listUnproven(run, findings);
  return {
    turn: entry.turn,
    commit: oid,
    outcome: differences.length > 0 ? 'different' : unproven.length > 0 ? 'not_compared' : 'same',
    status: run?.report.run_summary.status ?? null,
    note,
    actions: [...actions.values()].toSorted((a, b) => a.index - b.index),
    differences,
    proven: findings.proven.size,
    unproven,
    durationMs: project.clock.now().getTime() - started,
  };
}

/** Lists the paths that the commit changes without proof, and the plan's paths that only a command can have reverted. */
function listUnproven(run: RecordedRun, { differences, proven, open }: Findings): UnprovenPath[] {
  const different = new Set(differences.map(({ path }) => path));
  const paths = new Set([...run.changes.keys(), ...open.keys()]);
  return [...paths]
    .filter((path) => !proven.has(path) && !different.has(path))
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((path) => ({ turn: run.turn, commit: run.commit, path, ...(open.get(path) ?? describeOpen(run, path)) }));
}

function describeOpen({ rows, parsed }: RecordedRun, path: RepoPath): OpenPath {
  const action = rows.get(path)?.action ?? null;
  const planned = action === null ? undefined : parsed.plan.actions[action - 1];
  const runs = planned === undefined ? undefined : handlerOf(planned).runs;
  if (runs !== undefined) return { action, reason: `action ${action}, ${runs}, changed it` };
  return { action, reason: 'nothing in the plan produces what the commit contains' };
}

async function readRun(project: Project, step: ReportStep, findings: Findings): Promise<RecordedRun | null> {
  const { entry, oid, commit, changes } = step;
  const { store } = project.repository;
  const dir = turnDir(entry.session, entry.turn);
  const [reportPath, planPath] = [joinPath(dir, 'report.md'), joinPath(dir, 'plan.md')];
  const [reportFile, planFile] = await Promise.all([store.readFile(oid, reportPath), store.readFile(oid, planPath)]);
  const base = commit.parents[0];
  if (base === undefined || reportFile === null || planFile === null) {
    const missing = reportFile === null ? reportPath : planFile === null ? planPath : null;
    findings.differ({ path: missing }, missing === null ? 'No commit precedes the report.' : `There is no ${missing}.`);
    return null;
  }
  compareHash(project, entry, { path: reportPath, bytes: reportFile.bytes }, findings);
  const report = readReport(toText(reportFile.bytes), reportPath, findings);
  if (report === null) return null;
  if (project.hash(planFile.bytes) !== report.plan.sha256)
    findings.differ({ path: planPath }, 'The plan is not the one in the report: its sha256 differs.');
  refuseOtherFiles(step, dir, findings);
  compareLabels(step, report, reportPath, findings);
  const grammar = toGrammar(report.plan.grammar);
  if (grammar === null) {
    const message = `Its plan was read with grammar ${report.plan.grammar}, which this version of teddy does not support. Replay it with the version that wrote it, or a later one.`;
    findings.differ({ path: reportPath }, message);
    return null;
  }
  const { parsed, moved } = await readPlan(project, base, toText(planFile.bytes), report, grammar);
  const code = changes.filter(({ path }) => !isSessionPath(path));
  return {
    project,
    session: entry.session,
    turn: entry.turn,
    commit: oid,
    base,
    changes: new Map(code.map((change) => [change.path, change])),
    parsed,
    grammar,
    report,
    logs: new Map(report.action_logs.map((log) => [log.index, log])),
    rows: new Map(report.changes.map((row) => [row.path, row])),
    moved,
    foreign: step.foreign,
  };
}

/** Returns a description of the parts that were not compared, or null. */
async function replayRun(run: RecordedRun, findings: Findings, commands: CommandReplay | null): Promise<string | null> {
  compareLogs(run, findings);
  compareChanges(run, findings);
  await compareOutputs(run, findings);
  const { status } = run.report.run_summary;
  if (status === 'VALIDATION_FAILED') {
    const unknown = await compareValidation(run, findings);
    return unknown === 0 ? null : `${unknown} of the plan's problems depend on more than the repository contains`;
  }
  const [problem] = run.parsed.problems;
  const isRejected = run.report.action_logs.every((log) => log.status === 'SKIPPED');
  if (problem !== undefined && !isRejected)
    findings.differ({ action: problem.action ?? null }, `The plan was run, but it is not valid: ${problem.message}`);
  const redone = await redoActions(run, findings);
  await compareFiles(run, redone, findings);
  await commands?.replay(run, findings);
  return null;
}

function readReport(text: string, path: RepoPath, findings: Findings): Report | null {
  try {
    return parseReport(text);
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    findings.differ({ path }, error.message);
    return null;
  }
}

function compareHash(
  project: Project,
  { sha256 }: Entry,
  { path, bytes }: { path: RepoPath; bytes: Uint8Array },
  findings: Findings,
): void {
  if (project.hash(bytes) !== sha256)
    findings.differ({ path }, `${path} is not the file that its entry names: its sha256 differs.`);
}

function compareLabels({ entry, planner }: ReportStep, report: Report, path: RepoPath, findings: Findings): void {
  const { agent, model } = report.plan;
  if (report.session !== entry.session || report.turn !== entry.turn)
    findings.differ({ path }, `The report is for turn ${report.turn} of ${report.session}, but its entry is not.`);
  if (report.run_summary.status !== entry.status)
    findings.differ(
      { path },
      `The report's status is ${report.run_summary.status}, but its entry's status is ${entry.status ?? 'missing'}.`,
    );
  if (planner === null) findings.differ({ path }, `No earlier entry contains the plan of turn ${entry.turn}.`);
  if (planner && (agent !== (planner.agent ?? null) || model !== (planner.model ?? null)))
    findings.differ({ path }, "The report names a different agent or model from the plan's entry.");
}

/** A report may change only its own files in `.teddy/`. */
function refuseOtherFiles({ changes }: ReportStep, dir: RepoPath, findings: Findings): void {
  for (const { path } of changes) {
    if (!isSessionPath(path) || path === joinPath(dir, 'report.md')) continue;
    if (/^(?:output\/\d+\.log|pages\/\d+\.txt)$/.test(path.slice(dir.length + 1)) && path.startsWith(`${dir}/`))
      continue;
    findings.differ({ path }, `The report's commit changes ${path}, which no report may change.`);
  }
}

/**
 * Reads the plan. It may use absolute paths, and the rest of such a path in the report shows where the project was.
 * `moved` contains the paths that could also be literal, because the project has a directory with that name.
 */
async function readPlan(
  { repository: { store } }: Project,
  base: Oid,
  text: string,
  report: Report,
  grammar: Grammar,
): Promise<{ parsed: ParsedPlan; moved: Map<number, string> }> {
  const parsed = parsePlan(text, { grammar });
  const moved = new Map<number, string>();
  for (const action of parsed.plan.actions) {
    const path = findPath(action);
    const { file_path: file, resource } = report.action_logs.find(({ index }) => index === action.index)?.params ?? {};
    const told = file ?? resource;
    if (path === null || typeof told !== 'string' || !path.endsWith(`/${told}`)) continue;
    const rooted = parsePlan(text, { grammar, projectRoot: `/${path.slice(0, -told.length - 1)}` });
    for (const [at, before] of parsed.plan.actions.entries()) {
      const [plain, other] = [findPath(before), findPath(rooted.plan.actions[at] ?? before)];
      if (plain === null || plain === other) continue;
      const [first = ''] = plain.split('/');
      if (await store.hasPath(base, first as RepoPath)) moved.set(before.index, plain);
    }
    return { parsed: rooted, moved };
  }
  return { parsed, moved };
}

function findPath(action: Action): RepoPath | null {
  if ('path' in action) return action.path;
  return 'resource' in action && action.resource.kind === 'path' ? action.resource.path : null;
}

/** Compares the part of an output or a page that a report shows with the full text, stored next to the report. */
async function compareOutputs(run: RecordedRun, findings: Findings): Promise<void> {
  for (const { index, details } of run.report.action_logs) {
    for (const name of [details?.output_file, details?.page_file]) {
      if (name === undefined || details === undefined) continue;
      const path = joinPath(turnDir(run.session, run.turn), name);
      const bytes = await readStored(run, path);
      const why =
        bytes === null ? `The report names ${path}, which does not exist.` : findDifference(name, details, bytes);
      if (why !== null) findings.differ({ action: index, path }, why);
    }
  }
}

/** A report may name only files from its own turn. */
async function readStored({ project, commit }: RecordedRun, path: RepoPath): Promise<Uint8Array | null> {
  if (path.split('/').includes('..')) return null;
  return (await project.repository.store.readFile(commit, path))?.bytes ?? null;
}

function findDifference(
  name: string,
  { bytes: size, stdout, stderr }: ActionDetails,
  bytes: Uint8Array,
): string | null {
  if (name.startsWith('pages/'))
    return size === bytes.length
      ? null
      : `The page has ${bytes.length} bytes, but the report says ${size ?? 'nothing'}.`;
  // RESEARCH stores the text that it shows in another form.
  if (stdout === undefined || stderr === undefined) return null;
  const text = toText(bytes);
  const isPart =
    text.startsWith('--- stdout\n') &&
    text.includes(`${endLine(stdout)}--- stderr\n`) &&
    text.endsWith(stderr === '' ? '--- stderr\n' : endLine(stderr));
  return isPart ? null : 'The stored output does not end with the part that the report shows.';
}

/** Returns the number of problems that teddy cannot check with the repository's content. */
async function compareValidation(run: RecordedRun, findings: Findings): Promise<number> {
  const { project, base, parsed, grammar, report } = run;
  const inspect = inspectTree(project.repository.store, base);
  const mask = (text: string) => maskString(project.masker, text);
  const { problems } = await runVirtually(parsed, { inspect, mask, grammar });
  const again = await maskProblems(project.masker, problems);
  const told = new Set(report.validation_errors.map(toKey));
  const found = new Set(again.map(toKey));
  const unsure = (problem: Problem) => dependsOnMore(parsed.plan.actions[(problem.action ?? 0) - 1], problem, inspect);
  let unknown = 0;
  const compare = async (problems: Problem[], text: string) => {
    for (const problem of problems) {
      if (await unsure(problem)) unknown += 1;
      else findings.differ({ action: problem.action ?? null }, `${text}: ${problem.message}`);
    }
  };
  const gone = report.validation_errors.filter((one) => !found.has(toKey(one)));
  await compare(gone, 'The report has a problem that the plan does not have');
  const come = again.filter((one) => !told.has(toKey(one)));
  await compare(come, 'The plan has a problem that the report does not have');
  for (const action of parsed.plan.actions) findings.settle(action, 'skipped', 'the plan is not valid');
  return unknown;
}

/** An older version reported a fence with text after its end as an answer that was cut off. */
const unclosedFence = /^(?:The answer was cut off: the|The) fence ".*" that opens here is n.*$/s;

function toKey({ line, column, action, message }: Problem): string {
  return JSON.stringify([line, column, action ?? null, message.replace(unclosedFence, 'unclosed fence')]);
}

/** Returns true if a problem depends on agents, settings, untracked files, or text that was masked at the time. */
async function dependsOnMore(action: Action | undefined, { message }: Problem, inspect: Inspect): Promise<boolean> {
  if (message.includes('[masked: ') || message.includes('outside the sparse checkout')) return true;
  if (action === undefined) return false;
  const path = handlerOf(action).looksAt?.(action) ?? null;
  return path === 'settings' || (path !== null && (await inspect(path)).kind === 'absent');
}
