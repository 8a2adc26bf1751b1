/** The cascade that decides which project files a turn shows to the model, and why it omits others. */
import type { TreeFile } from '../../ports/git.ts';
import { type LinePosition, readLevels } from './context-levels.ts';
import type { ContextLine } from './context-lines.ts';
import { coversPath, findTarget, isOwn, isPattern, type Surroundings, type Target } from './context-target.ts';
import type { IsIgnored } from '../paths/ignore-rules.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { isSecretName, onlyTheUser } from '../masks/secret-names.ts';
import { sortTree, type SortedTree } from '../paths/sorted-tree.ts';

export interface ContextFile {
  /** A path in the project, or a URL. */
  path: string;
  /** A blob in the tree, a page that must have been fetched as `page`, or a path that is not in the tree. */
  source: { kind: 'blob'; oid: Oid } | { kind: 'page'; page: string } | { kind: 'absent'; isPattern: boolean };
  /** The line that added the file. */
  place: LinePosition;
  /** The author of a line that names exactly this file; the user takes precedence. */
  aloneBy: 'user' | 'model' | null;
  /** True when the user's own lists add the file; teddy then shows it even if the model itself may not ask for it. */
  isUsers: boolean;
}

/** A name from a line that teddy does not show; for a refused line, its full text, including `!`. */
export interface LeftOut {
  path: string;
  reason: string;
  place: LinePosition;
  /** True for files that `.teddyignore` removes from a directory or pattern; teddy does not report them. */
  isQuiet: boolean;
}

interface TakenAway {
  path: string;
  place: LinePosition;
  by: LinePosition;
}

interface Rule {
  removes: boolean;
  place: LinePosition;
  covers(path: string): boolean;
}

export interface ResolvedContext {
  /** The files, each path once, in order of first mention. */
  files: ContextFile[];
  leftOut: LeftOut[];
  takenAway: TakenAway[];
  /** Every line that is not blank or a comment, in order. */
  rules: Rule[];
  /** Notes about the user's lists, one sentence each. */
  notes: string[];
}

interface Selection {
  tree: SortedTree;
  isIgnored: IsIgnored;
  files: Map<string, ContextFile>;
  /** The paths and rules of the user's own lists; null while the user's lists are still being read. */
  users: { paths: ReadonlySet<string>; rules: readonly Rule[] } | null;
  /** The number of file visits for all lines together. */
  looks: number;
  takenAway: Map<string, TakenAway>;
  leftOut: LeftOut[];
  rules: Rule[];
  notes: string[];
}

interface Candidate extends Pick<ContextFile, 'path' | 'source'> {
  mode?: TreeFile['mode'];
  alone: boolean;
}

/** Limits how often a model's list may visit each file: without a limit, it could keep a large project busy for minutes. */
const maxPasses = 100;
const tooMuch: Target = {
  kind: 'refused',
  reason: 'the list goes through the project too often; name directories once',
};

/**
 * Resolves the lists. `global` and `session` are the texts of the user's lists. `turn` is the turn's own list, which
 * comes from a model: it cannot add files with secret-like names, files that `isIgnored` (`.teddyignore`) excludes, or
 * files that one of the user's lines removes. `root`, absolute, is stripped from the front of paths. No line can make
 * this function throw.
 */
export async function resolveContext(
  levels: { global: string; session: string; turn: readonly string[] },
  tree: readonly TreeFile[],
  { root, isIgnored = () => false }: { root?: string | undefined; isIgnored?: IsIgnored | undefined } = {},
): Promise<ResolvedContext> {
  const lines = readLevels(levels);
  const around: Surroundings = { tree: sortTree(tree), root, compileGlob: null };
  if (lines.some(({ line }) => isPattern(line.text) && findTarget(line, around).kind === 'pattern')) {
    around.compileGlob = (await import('../paths/context-glob.ts')).compileGlob;
  }
  const selection = beginSelection(around.tree, isIgnored);
  const maxLooks = maxPasses * Math.max(1000, tree.length);
  for (const { line, place, refusal } of lines) {
    if (place.level === 'turn') selection.users ??= freezeUsers(selection);
    const isTooMuch = place.level === 'turn' && selection.looks > maxLooks;
    follow(line, refusal ?? (isTooMuch ? tooMuch : findTarget(line, around)), place, selection);
  }
  const { files, leftOut, takenAway, rules, notes } = selection;
  return {
    files: [...files.values()],
    leftOut: leftOut.filter(({ path }) => !files.has(path)),
    takenAway: [...takenAway.values()],
    rules,
    notes,
  };
}

function beginSelection(tree: SortedTree, isIgnored: IsIgnored): Selection {
  return {
    tree,
    isIgnored,
    files: new Map(),
    users: null,
    looks: 0,
    takenAway: new Map(),
    leftOut: [],
    rules: [],
    notes: [],
  };
}

function freezeUsers({ files, rules }: Selection): Selection['users'] {
  return { paths: new Set(files.keys()), rules: [...rules] };
}

function follow(line: ContextLine, target: Target, place: LinePosition, selection: Selection): void {
  if (target.kind === 'refused') {
    const path = `${line.removes ? '!' : ''}${line.text}`;
    selection.leftOut.push({ path, reason: target.reason, place, isQuiet: false });
    return;
  }
  const rule = { removes: line.removes, place, covers: coversPath(target) };
  const candidates = toCandidates(target, selection.tree);
  selection.looks += candidates.length;
  if (line.removes) takeAway(rule, candidates, selection);
  else for (const candidate of candidates) add(candidate, place, selection);
  selection.rules.push(rule);
}

function toCandidates(target: Exclude<Target, { kind: 'refused' }>, tree: SortedTree): Candidate[] {
  const below = (files: readonly TreeFile[]) =>
    files.filter(({ path }) => !isOwn(path)).map((file) => toFile(file, false));
  switch (target.kind) {
    case 'file':
      return [toFile(target.file, true)];
    case 'directory':
      return below(tree.filesBelow(target.path));
    case 'pattern': {
      const found = below(tree.filesBelow('').filter(({ path }) => target.matches(path)));
      return found.length > 0 ? found : [toAbsent(target.path, true)];
    }
    case 'absent':
      return [toAbsent(target.path, false)];
    case 'url':
      return [{ path: target.url, source: { kind: 'page', page: target.page }, alone: true }];
  }
}

function toFile({ path, oid, mode }: TreeFile, alone: boolean): Candidate {
  return { path, source: { kind: 'blob', oid }, mode, alone };
}

function toAbsent(path: string, isPatternText: boolean): Candidate {
  return { path, source: { kind: 'absent', isPattern: isPatternText }, alone: true };
}

function add(candidate: Candidate, place: LinePosition, selection: Selection): void {
  const { path, source, alone } = candidate;
  const against = whyNot(candidate, selection);
  if (against !== null) {
    selection.leftOut.push({ path, place, ...against });
    return;
  }
  const { files, users, takenAway } = selection;
  const known = files.get(path);
  const isUsers = users === null || users.paths.has(path);
  const aloneBy = alone && known?.aloneBy !== 'user' ? (place.level === 'turn' ? 'model' : 'user') : null;
  files.set(path, { path, source, place: known?.place ?? place, aloneBy: aloneBy ?? known?.aloneBy ?? null, isUsers });
  takenAway.delete(path);
}

function whyNot(
  { path, mode, alone }: Candidate,
  { users, isIgnored }: Selection,
): Pick<LeftOut, 'reason' | 'isQuiet'> | null {
  const loud = (reason: string) => ({ reason, isQuiet: false });
  if (mode === '120000') return loud('a symbolic link; name the file it leads to');
  if (mode === '160000') return loud('a submodule; its files belong to another repository');
  if (users !== null && !users.paths.has(path)) {
    const veto = users.rules.findLast((rule) => rule.covers(path));
    if (veto?.removes) return loud(`${describePlace(veto.place)} takes it away, and only the user changes that`);
    if (isSecretName(path as RepoPath)) return loud(`named like a secret; ${onlyTheUser}`);
    if (alone && isIgnored(path)) return loud(`${ignoredReason}; ${onlyTheUser}`);
  }
  return !alone && isIgnored(path) ? { reason: ignoredReason, isQuiet: true } : null;
}

const ignoredReason = '.teddyignore leaves it out';

/** Describes a line: `session.context, line 3 (!docs/)`. */
function describePlace({ level, line, text }: LinePosition): string {
  return `${level}.context, line ${line} (${text})`;
}

function takeAway(rule: Rule, candidates: Candidate[], selection: Selection): void {
  const { files, takenAway, notes } = selection;
  const [only] = candidates.length === 1 ? candidates : [];
  const isOne = only?.source.kind === 'blob';
  const paths = isOne ? [only.path] : [...files.keys()].filter(rule.covers);
  if (!isOne) selection.looks += files.size;
  for (const path of paths) {
    const file = files.get(path);
    if (file && files.delete(path)) takenAway.set(path, { path, place: file.place, by: rule.place });
  }
  const { level, line, text } = rule.place;
  const isNothing = paths.length === 0 && candidates.every(({ source }) => source.kind !== 'blob');
  if (isNothing && level !== 'turn') notes.push(`${level}.context, line ${line}: ${text} removes nothing.`);
}
