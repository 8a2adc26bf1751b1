/** Lists the files where git looks for hooks: teddy's, somebody else's, or none. */
import { toShellWord } from '../../session/text/shell-word.ts';
import {
  type HookFile,
  type HookName,
  type HookTarget,
  type HookProgram,
  type HookSource,
  hookNames,
} from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';

/**
 * `outdated`: teddy's, from another version or without its execute bit. `edited`: teddy's, but somebody has changed it
 * since. `called`: somebody else's, and it calls teddy.
 */
type HookState = 'installed' | 'outdated' | 'edited' | 'called' | 'foreign' | 'missing';

export interface ListedHook {
  name: HookName;
  /** An absolute path; in a work tree, the file that the user edits. */
  path: string;
  state: HookState;
  /** The previous hook, which teddy's runs first; null when there was none. */
  before: string | null;
  /** The executable that teddy's script falls back to. */
  program: string | null;
}

/** The parts of a project that hooks need. */
export type HookedProject = Pick<Project, 'repository' | 'hash'>;

export interface ListedHooks {
  place: HookTarget;
  hooks: ListedHook[];
}

/** Lists the hooks in the place where git looks, unless the caller passes another place. */
export async function listHooks(project: HookedProject, source: HookSource, wanted?: HookTarget): Promise<ListedHooks> {
  const place = wanted ?? (await project.repository.hooks.locate());
  const listed = await Promise.all(hookNames.map((name) => inspectHook(project, source, place, name)));
  return { place, hooks: listed };
}

/** Lists the hooks in the repository's own directory, regardless of where git looks. */
export async function listOwn(project: HookedProject, source: HookSource): Promise<ListedHook[]> {
  const place: HookTarget = { dir: project.repository.hooks.ownDir, kind: 'own', origin: null };
  return (await listHooks(project, source, place)).hooks;
}

/** Returns true if teddy installed the hook, even if somebody has changed it since. */
export function isOurs({ state }: ListedHook): boolean {
  return state === 'installed' || state === 'outdated' || state === 'edited';
}

/** Returns true if hooks are switched off: git runs none when `core.hooksPath` is empty or `/dev/null`. */
export function isSwitchedOff({ dir }: HookTarget): boolean {
  return dir === '' || dir === '/dev/null';
}

const kinds = { own: '', shared: ', shared with other repositories', 'work-tree': ', in the work tree' };

export function describePlace({ dir, kind, origin }: HookTarget): string {
  const set = origin === null ? '' : `, by core.hooksPath (${origin})`;
  return `Hooks in ${dir === '' ? 'no directory' : dir}${set}${kinds[kind]}`;
}

async function inspectHook(
  { repository: { hooks }, hash }: HookedProject,
  source: HookSource,
  place: HookTarget,
  name: HookName,
): Promise<ListedHook> {
  const path = hookPath(place, name);
  const [file, before, script] = await Promise.all([
    hooks.read(path),
    hooks.read(beforePath(path)),
    source.readScript(name),
  ]);
  return {
    name,
    path,
    state: file === null ? 'missing' : toState(file, { name, script, isHusky: isHusky(place), hash }),
    before: before === null ? null : beforePath(path),
    program: programOf(file),
  };
}

/**
 * Returns the path of a hook. husky generates the files that git runs, in `.husky/_`; the user's own files are one
 * directory above.
 */
function hookPath({ dir, kind }: HookTarget, name: HookName): string {
  return kind === 'work-tree' && isHuskyDir(dir) ? `${dir.slice(0, -2)}/${name}` : `${dir}/${name}`;
}

function isHusky({ dir, kind }: HookTarget): boolean {
  return kind === 'work-tree' && isHuskyDir(dir);
}

function isHuskyDir(dir: string): boolean {
  return dir.endsWith('/_');
}

export function beforePath(path: string): string {
  return `${path}.before-teddy`;
}

interface Expected {
  name: HookName;
  /** The script that ships with teddy. */
  script: string;
  isHusky: boolean;
  hash: Hash;
}

function toState(file: HookFile, { name, script, isHusky, hash }: Expected): HookState {
  if (wasOurs(file)) {
    const unchanged = readSealed(file.text, hash);
    if (unchanged === null) return 'edited';
    return file.isExecutable && withoutProgram(unchanged) === script ? 'installed' : 'outdated';
  }
  const calls = new RegExp(`^(?!\\s*#).*\\bteddy['"]? hook ${name}\\b`, 'm');
  // husky reads the user's files and does not execute them.
  return calls.test(file.text ?? '') && (file.isExecutable || isHusky) ? 'called' : 'foreign';
}

function wasOurs(file: HookFile | null): file is HookFile & { text: string } {
  return /^# teddy hook [a-z-]+: /m.test(file?.text ?? '');
}

type Hash = HookedProject['hash'];

const sealed = /^([^]*\n)# By this line teddy knows its file from one that somebody has changed: ([0-9a-f]{64})\n$/;

/**
 * Returns the script, of any version, if nobody has changed it since; null otherwise, because a changed script belongs
 * to the user.
 */
function readSealed(text: string, hash: Hash): string | null {
  const [, script = '', sum] = sealed.exec(text) ?? [];
  return sum === hash(script) ? script : null;
}

const programLine = /^node=.* main=(.*)$/m;

export function renderHook(script: string, { node, main }: HookProgram, hash: Hash): string {
  const text = script.replace(programLine, () => `node=${toShellWord(node)} main=${toShellWord(main)}`);
  return `${text}# By this line teddy knows its file from one that somebody has changed: ${hash(text)}\n`;
}

function withoutProgram(text: string): string {
  return text.replace(programLine, 'node= main=');
}

/** Returns the program's path in readable form. */
function programOf(file: HookFile | null): string | null {
  const word = wasOurs(file) ? (programLine.exec(file.text)?.[1] ?? '') : '';
  return word === '' ? null : word.replace(/^'(.*)'$/, '$1').replaceAll(String.raw`'\''`, "'");
}

/** Returns the line that a user's own hook needs to call teddy if teddy is installed. */
export function callOf(name: HookName): string {
  return `if command -v teddy >/dev/null 2>&1; then teddy hook ${name} -- "$@"; fi`;
}
