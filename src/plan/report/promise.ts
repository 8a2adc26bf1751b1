/** Compares what a turn's plan promised to touch with what the turn has touched. */
import type { RepoPath } from '../../names.ts';
import { typeOf } from '../actions/actions.ts';
import type { ActionLog, Report } from './report.ts';

/**
 * `beyond`: some changed file was named by no action. `short`: something that the plan named did not happen, or a test
 * in it did not pass. `kept`: neither.
 */
export const promiseVerdicts = ['kept', 'beyond', 'short'] as const;
type PromiseVerdict = (typeof promiseVerdicts)[number];

interface PromisedPath {
  path: RepoPath;
  /**
   * `kept`: named and changed. `beyond`: changed, but named by no action. `allowed`: the same, in a file that the
   * project expects to change by itself. `missed`: named, but unchanged although its actions succeeded. The others tell
   * how the last action that named the path ended.
   */
  state: 'kept' | 'beyond' | 'allowed' | 'missed' | 'skipped' | 'failed' | 'aborted';
  /** The index of the action that changed the path, or else that named it; null for a plan in prose. */
  action: number | null;
}

interface PromisedCommand {
  action: number;
  /** The script's first line. */
  command: string;
  /** `unchecked`: a test that did not run, or did not pass. */
  state: 'ran' | 'unchecked' | 'skipped' | 'failed' | 'aborted';
}

export interface KeptPromise {
  verdict: PromiseVerdict;
  /** True when the names come from prose, which names files without saying what happens to them. */
  isProse: boolean;
  /** Changed paths beyond the plan first, then the rest, each in the plan's order. */
  paths: PromisedPath[];
  commands: PromisedCommand[];
}

/** Returns true for a path that may change without being named. */
export type IsAllowed = (path: RepoPath) => boolean;

const nothingAllowed: IsAllowed = () => false;

const outcomes = { SKIPPED: 'skipped', FAILURE: 'failed', ABORTED: 'aborted' } as const;

/**
 * Compares a run's report with itself: its actions name paths and commands, and its changes say what happened. Returns
 * null when nothing ran, because the plan was rejected or invalid.
 */
export function checkReport(
  {
    run_summary: { status },
    action_logs,
    changes,
  }: Pick<Report, 'action_logs' | 'changes'> & {
    run_summary: Pick<Report['run_summary'], 'status'>;
  },
  isAllowed = nothingAllowed,
): KeptPromise | null {
  if (status === 'VALIDATION_FAILED' || action_logs.every((log) => log.status === 'SKIPPED')) return null;
  const named = new Map<RepoPath, ActionLog>();
  for (const log of action_logs) {
    const path = namedPath(log);
    if (path !== null) named.set(path, log);
  }
  const changed = new Map(changes.map(({ path, action }) => [path, action]));
  const paths = [...named].map(([path, { index, status: ended }]): PromisedPath => {
    const action = changed.get(path);
    if (action !== undefined) return { path, state: 'kept', action };
    return { path, state: ended === 'SUCCESS' ? 'missed' : outcomes[ended], action: index };
  });
  const beyond = changes.flatMap(({ path, action }) => (named.has(path) ? [] : [toBeyond(path, action, isAllowed)]));
  return judge({ isProse: false, paths: [...beyond, ...paths], commands: action_logs.flatMap(toCommand) });
}

/**
 * Compares a plan in prose, such as a captured agent's, with the files that its turn changed. Prose names many files
 * that it only talks about, so an unchanged one breaks no promise.
 */
export function checkProse(plan: string, changed: readonly RepoPath[], isAllowed = nothingAllowed): KeptPromise {
  const longestFirst = [...changed].toSorted((one, other) => other.length - one.length);
  // Nothing tells where the project was on that machine, so an absolute name counts for the longest path that fits.
  const inProject = (name: string) => longestFirst.find((path) => name.endsWith(`/${path}`));
  const named = new Set(listNamed(plan).map((name) => (name.startsWith('/') ? inProject(name) : name)));
  const isNamed = (path: RepoPath) => named.has(path);
  const beyond = changed.flatMap((path) => (isNamed(path) ? [] : [toBeyond(path, null, isAllowed)]));
  const kept = changed.filter(isNamed).map((path): PromisedPath => ({ path, state: 'kept', action: null }));
  return judge({ isProse: true, paths: [...beyond, ...kept], commands: [] });
}

function toBeyond(path: RepoPath, action: number | null, isAllowed: IsAllowed): PromisedPath {
  return { path, state: isAllowed(path) ? 'allowed' : 'beyond', action };
}

function judge(checked: Omit<KeptPromise, 'verdict'>): KeptPromise {
  const { paths, commands } = checked;
  const isKept = ({ state }: PromisedPath) => state === 'kept' || state === 'allowed';
  const isBeyond = paths.some(({ state }) => state === 'beyond');
  const isShort = !paths.every(isKept) || commands.some(({ state }) => state !== 'ran');
  return { verdict: isBeyond ? 'beyond' : isShort ? 'short' : 'kept', ...checked };
}

/** Returns the file that the action was to write; null when it could not write any, or runs a program. */
function namedPath({ action_type, params }: ActionLog): RepoPath | null {
  const path = params['file_path'];
  return typeOf({ type: action_type }).writes !== undefined && typeof path === 'string' ? (path as RepoPath) : null;
}

function toCommand({ index, action_type, status, params }: ActionLog): PromisedCommand[] {
  if (action_type !== 'EXECUTE') return [];
  const script = String(params['command'] ?? '');
  const [command = ''] = script.trim().split('\n');
  const state = status === 'SUCCESS' ? 'ran' : isTest(script) ? 'unchecked' : outcomes[status];
  return [{ action: index, command, state }];
}

const tests =
  /\b(?:tests?|specs?|checks?|lint|typecheck|tsc|jest|vitest|mocha|pytest|unittest|tox|rspec|phpunit|clippy|vet|verify)\b/i;

/** Guesses from a script's words whether it checks the code. */
export function isTest(script: string): boolean {
  return tests.test(script);
}

/**
 * Lists the names that may be paths in prose: words in back-ticks, targets of links, and the first words of list items,
 * without a line number. An absolute path keeps its leading `/`.
 */
function listNamed(plan: string): string[] {
  const marked = [
    /`([^`\n]{1,300})`/g,
    /\]\(([^)\s]{1,300})\)/g,
    /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\*\*)?([^\s`*:,]{1,300})/gm,
  ];
  const words = marked.flatMap((pattern) => [...plan.matchAll(pattern)].map(([, word = '']) => word.trim()));
  return words.map((word) => word.replace(/^\.\//, '').replace(/(?::\d+(?:[-:]\d+)?|#L?\d[\w-]*)$/, ''));
}

const maxNamed = 5;

/** Describes the comparison in one line, without a full stop; texts from the plan are not escaped. */
export function describePromise({ isProse, paths, commands }: KeptPromise): string {
  const pathsIn = (...states: PromisedPath['state'][]) => paths.filter(({ state }) => states.includes(state));
  const undone = pathsIn('missed', 'skipped', 'failed', 'aborted');
  const parts = [
    name('changed beyond the plan', pathsIn('beyond').map(nameBeyond)),
    name(
      'named but not changed',
      undone.map(({ path, state }) => (state === 'missed' ? path : `${path} (${state})`)),
    ),
    name('tests that did not pass', commandsIn(commands, ['unchecked'])),
    name('commands that did not succeed', commandsIn(commands, ['skipped', 'failed', 'aborted'])),
  ].filter((part) => part !== null);
  const allowed = name('expected beside the plan', pathsIn('allowed').map(nameBeyond));
  const told = parts.length === 0 ? 'kept' : parts.join('; ');
  return `${[told, ...(allowed === null ? [] : [allowed])].join('; ')}${isProse ? ' (read from prose)' : ''}`;
}

function nameBeyond({ path, action }: PromisedPath): string {
  return action === null ? path : `${path} (by action ${action})`;
}

function commandsIn(commands: readonly PromisedCommand[], states: PromisedCommand['state'][]): string[] {
  return commands.filter(({ state }) => states.includes(state)).map(({ command }) => command);
}

function name(what: string, names: readonly string[]): string | null {
  if (names.length === 0) return null;
  const more = names.length - maxNamed;
  return `${what}: ${[...names.slice(0, maxNamed), ...(more > 0 ? [`and ${more} more`] : [])].join(', ')}`;
}
