/** The cascade: which files of the project a turn shows to the model, and why others are not among them. */
import type { TreeFile } from '../../ports/git.ts';
import { type LinePosition, readLevels } from './context-levels.ts';
import type { ContextLine } from './context-lines.ts';
import { coversPath, findTarget, isOwn, isPattern, type Surroundings, type Target } from './context-target.ts';
import type { IsIgnored } from '../paths/ignore-rules.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { isSecretName, onlyTheUser } from '../masks/secret-names.ts';
import { sortTree, type SortedTree } from '../paths/sorted-tree.ts';

export interface ContextFile {
  /** A path of the project, or a URL. */
  path: string;
  /** A blob of the tree, a page that has to have been fetched as `page`, or nothing that the tree has. */
  source: { kind: 'blob'; oid: Oid } | { kind: 'page'; page: string } | { kind: 'absent'; isPattern: boolean };
  /** The line that brought it in. */
  place: LinePosition;
  /** Whose line names exactly this file; the user's counts more. */
  aloneBy: 'user' | 'model' | null;
  /** The user's own lists bring it in: what a model may not ask for is then shown all the same. */
  isUsers: boolean;
}

/** A thing that a line named and does not get; a refused line in full, `!` included. */
export interface LeftOut {
  path: string;
  reason: string;
  place: LinePosition;
  /** Only what `.teddyignore` takes out of a directory or pattern, which nobody has to be told. */
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
  /** Each path once, where it was first named. */
  files: ContextFile[];
  leftOut: LeftOut[];
  takenAway: TakenAway[];
  /** Every line that means something, in order. */
  rules: Rule[];
  /** Notes about the user's lists, one sentence each. */
  notes: string[];
}

interface Selection {
  tree: SortedTree;
  isIgnored: IsIgnored;
  files: Map<string, ContextFile>;
  /** The paths and rules of the user's own lists; null while they are being read. */
  users: { paths: ReadonlySet<string>; rules: readonly Rule[] } | null;
  /** How many files were looked at for all lines together. */
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

/** A list of a model could otherwise keep a large project busy for minutes: it may look at each file so often. */
const maxPasses = 100;
const tooMuch: Target = {
  kind: 'refused',
  reason: 'the list goes through the project too often; name directories once',
};

/**
 * `global` and `session` are the texts of the user's lists, `turn` the lines of the turn's own list, which comes from
 * a model: it brings in nothing that is named like a secret, that `isIgnored` (`.teddyignore`) leaves out, or that a
 * line of the user's takes away. `root`, absolute, is taken off the front of paths. Never throws because of a line.
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

/** `session.context, line 3 (!docs/)`. */
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
  if (isNothing && level !== 'turn') notes.push(`${level}.context, line ${line}: ${text} takes nothing away.`);
}
