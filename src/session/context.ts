/** The cascade: which files of the project a turn shows to the model, and why others are not among them. */
import { parseRepoPath, unwrapPath } from '../plan/paths.ts';
import type { TreeFile } from '../ports.ts';
import { type ContextLine, parseContextLine } from './context-lines.ts';
import type { Oid, RepoPath } from './names.ts';
import { isSecretName } from './secret-names.ts';

type ContextLevel = 'global' | 'session' | 'turn';

export interface ContextFile {
  path: RepoPath;
  oid: Oid;
  /** Some line names exactly this file: it is shown even if it is binary or large. */
  alone: boolean;
}

/** What a line named and was not done, a `!` in front included. `line` counts from 1 within its level. */
interface LeftOut {
  path: string;
  reason: string;
  level: ContextLevel;
  line: number;
}

export interface ResolvedContext {
  /** Each path once, where it was first named. */
  files: ContextFile[];
  /** Named, but not in the tree. */
  missing: RepoPath[];
  leftOut: LeftOut[];
  /** What is worth knowing about the lists; one sentence each. */
  notes: string[];
}

interface Project {
  tree: readonly TreeFile[];
  byPath: ReadonlyMap<string, TreeFile>;
  root: string | undefined;
}

interface Place {
  level: ContextLevel;
  line: number;
}

interface Selection {
  files: Map<RepoPath, ContextFile>;
  missing: Set<RepoPath>;
  leftOut: LeftOut[];
  notes: string[];
}

/** What a line's text means in this tree. */
type Target =
  | { kind: 'file'; file: TreeFile }
  | { kind: 'directory'; path: string; files: TreeFile[] }
  | { kind: 'missing'; path: RepoPath }
  | { kind: 'refused'; reason: string };

/**
 * `global` and `session` are the texts of the user's lists, `turn` the lines of the turn's own list, which comes from
 * a model and therefore never brings in a file named like a secret. `tree` is sorted by path. Never throws because of
 * a line: what cannot be followed is left out with a reason. `root`, absolute, is taken off the front of paths.
 */
export function resolveContext(
  levels: { global: string; session: string; turn: readonly string[] },
  tree: readonly TreeFile[],
  root?: string,
): ResolvedContext {
  const project: Project = { tree, byPath: new Map(tree.map((file) => [file.path, file])), root };
  const selection: Selection = { files: new Map(), missing: new Set(), leftOut: [], notes: [] };
  const follow = (level: ContextLevel, lines: readonly string[]) =>
    lines.forEach((text, index) => {
      const line = parseContextLine(text);
      if (line) applyLine(line, findTarget(line, project), { level, line: index + 1 }, selection);
    });
  follow('global', levels.global.split('\n'));
  follow('session', levels.session.split('\n'));
  follow('turn', levels.turn);
  const { files, missing, leftOut, notes } = selection;
  return { files: [...files.values()], missing: [...missing], leftOut, notes };
}

function applyLine(line: ContextLine, target: Target, place: Place, selection: Selection): void {
  if (target.kind === 'refused') {
    selection.leftOut.push({ path: `${line.removes ? '!' : ''}${line.text}`, reason: target.reason, ...place });
  } else if (line.removes) {
    const taken = takeAway(target, selection);
    if (!taken) selection.notes.push(`${place.level}.context, line ${place.line}: !${line.text} takes nothing away.`);
  } else {
    add(target, place, selection);
  }
}

function add(target: Exclude<Target, { kind: 'refused' }>, place: Place, selection: Selection): void {
  if (target.kind === 'missing') {
    const reason = reasonAgainst(target.path, place, selection);
    if (reason) selection.leftOut.push({ path: target.path, reason, ...place });
    else selection.missing.add(target.path);
    return;
  }
  const alone = target.kind === 'file';
  for (const file of alone ? [target.file] : target.files) {
    const { path, oid } = file;
    const reason =
      file.mode === '120000' ? 'a symbolic link; name the file it leads to' : reasonAgainst(path, place, selection);
    if (reason) selection.leftOut.push({ path, reason, ...place });
    else selection.files.set(path, { path, oid, alone: alone || (selection.files.get(path)?.alone ?? false) });
  }
}

function reasonAgainst(path: RepoPath, { level }: Place, { files }: Selection): string | null {
  if (level !== 'turn' || files.has(path) || !isSecretName(path)) return null;
  return 'named like a secret; only your own global.context or session.context can show it';
}

function takeAway(target: Exclude<Target, { kind: 'refused' }>, { files, missing }: Selection): boolean {
  if (target.kind === 'file') return files.delete(target.file.path);
  if (target.kind === 'missing') return missing.delete(target.path);
  const missingBelow = [...missing].filter((path) => isBelow(path, target.path));
  return [
    ...missingBelow.map((path) => missing.delete(path)),
    ...target.files.map(({ path }) => files.delete(path)),
  ].includes(true);
}

function findTarget(line: ContextLine, project: Project): Target {
  // A name that literally exists comes first, so that `[id].ts` is a file and not a pattern.
  const asWritten = lookUp(line.text, project);
  if (asWritten) return asWritten;
  if (line.literal) return toMissing(line.text, project);
  const text = /^[`[]/.test(line.text) ? unwrapPath(line.text) : line.text;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return refused('URLs are not supported yet');
  if (isRoot(text, project)) return { kind: 'directory', path: '', files: filesBelow('', project) };
  const target = toMissing(text, project);
  if (target.kind !== 'missing') return target;
  return lookUp(target.path, project) ?? (/[*?[]/.test(text) ? refused('globs are not supported yet') : target);
}

/** The file or directory of that name, or null when the tree has neither. */
function lookUp(text: string, project: Project): Target | null {
  const file = project.byPath.get(text);
  if (file) return isOwn(file.path) ? null : { kind: 'file', file };
  const path = text.replace(/\/+$/, '');
  const files = path === '' ? [] : filesBelow(path, project);
  return files.length === 0 ? null : { kind: 'directory', path, files };
}

/** The contained path that a text names, where the tree has nothing. */
function toMissing(text: string, project: Project): Target {
  const parsed = parseRepoPath(text, project.root);
  return 'problem' in parsed ? refused(parsed.problem) : { kind: 'missing', path: parsed.path };
}

function filesBelow(directory: string, { tree }: Project): TreeFile[] {
  return tree.filter(({ path }) => isBelow(path, directory) && !isOwn(path));
}

function refused(reason: string): Target {
  return { kind: 'refused', reason };
}

/** Teddy's own files are in the tree as well. */
function isOwn(path: string): boolean {
  return path.startsWith('.teddy/');
}

function isRoot(text: string, { root }: Project): boolean {
  return /^(?:\.?\/)*\.?$/.test(text) || text.replace(/\/$/, '') === root;
}

/** The empty directory is the whole project. */
function isBelow(path: string, directory: string): boolean {
  return directory === '' || path.startsWith(`${directory}/`);
}
