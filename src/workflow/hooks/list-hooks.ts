/** What stands where git looks for hooks: ours, somebody else's, or nothing. */
import { toShellWord } from '../../session/shell-word.ts';
import type { HookFile, HookName, HookPlace, HookProgram, Hooks, HookSource, Project } from '../../ports.ts';

export const hookNames = [
  'prepare-commit-msg',
  'commit-msg',
  'pre-push',
  'post-checkout',
] as const satisfies readonly HookName[];

/** `outdated`: ours, of another version or without its execute bit. `called`: somebody's, and it calls teddy. */
type HookState = 'installed' | 'outdated' | 'called' | 'foreign' | 'missing';

export interface ListedHook {
  name: HookName;
  /** Absolute; in a work tree, the file that is the user's to edit. */
  path: string;
  state: HookState;
  /** What was there before, and is run by ours first. */
  before: string | null;
  /** Of ours: the executable that it falls back to. */
  program: string | null;
}

/** Nothing of a project but its repository is concerned. */
export type HookedProject = Pick<Project, 'repository'>;

interface ListedHooks {
  place: HookPlace;
  hooks: ListedHook[];
}

export async function listHooks({ repository: { hooks } }: HookedProject, source: HookSource): Promise<ListedHooks> {
  const place = await hooks.locate();
  const listed = await Promise.all(hookNames.map((name) => lookAt(hooks, source, place, name)));
  return { place, hooks: listed };
}

async function lookAt(hooks: Hooks, source: HookSource, place: HookPlace, name: HookName): Promise<ListedHook> {
  const path = hookPath(place, name);
  const [file, before, script] = await Promise.all([
    hooks.read(path),
    hooks.read(beforePath(path)),
    source.readScript(name),
  ]);
  return {
    name,
    path,
    state: toState(file, name, script, isHusky(place)),
    before: before === null ? null : beforePath(path),
    program: programOf(file),
  };
}

/** husky generates what git runs, in `.husky/_`; the user's own files are one directory above. */
function hookPath({ dir, kind }: HookPlace, name: HookName): string {
  return kind === 'work-tree' && isHuskyDir(dir) ? `${dir.slice(0, -2)}/${name}` : `${dir}/${name}`;
}

function isHusky({ dir, kind }: HookPlace): boolean {
  return kind === 'work-tree' && isHuskyDir(dir);
}

function isHuskyDir(dir: string): boolean {
  return dir.endsWith('/_');
}

export function beforePath(path: string): string {
  return `${path}.before-teddy`;
}

function toState(file: HookFile | null, name: HookName, script: string, isHusky: boolean): HookState {
  if (file === null) return 'missing';
  if (isOurs(file)) return file.isExecutable && withoutProgram(file.text) === script ? 'installed' : 'outdated';
  const calls = new RegExp(`^(?!\\s*#).*\\bteddy['"]? hook ${name}\\b`, 'm');
  // husky reads the user's files, and does not run them.
  return calls.test(file.text ?? '') && (file.isExecutable || isHusky) ? 'called' : 'foreign';
}

function isOurs(file: HookFile | null): file is HookFile & { text: string } {
  return /^#!\/bin\/sh\n# teddy hook [a-z-]+: /.test(file?.text ?? '');
}

const programLine = /^node=.* main=(.*)$/m;

export function renderHook(script: string, { node, main }: HookProgram): string {
  return script.replace(programLine, () => `node=${toShellWord(node)} main=${toShellWord(main)}`);
}

function withoutProgram(text: string): string {
  return text.replace(programLine, 'node= main=');
}

/** As a person reads it. */
function programOf(file: HookFile | null): string | null {
  const word = isOurs(file) ? (programLine.exec(file.text)?.[1] ?? '') : '';
  return word === '' ? null : word.replace(/^'(.*)'$/, '$1').replaceAll(String.raw`'\''`, "'");
}

/** What a file of the user's needs, to call teddy where there is one. */
export function callOf(name: HookName): string {
  return `if command -v teddy >/dev/null 2>&1; then teddy hook ${name} -- "$@"; fi`;
}
