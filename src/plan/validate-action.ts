/** What one action will do to the files as they are, or why it cannot. Validation and execution both ask here. */
import type { FileTarget } from '../ports.ts';
import type { RepoPath } from '../session/names.ts';
import { decodeText } from './decode-text.ts';
import { type EditMatch, applyEdit } from './match.ts';
import { parseRepoPath } from './paths.ts';
import type {
  Action,
  AskAction,
  CreateAction,
  EditAction,
  ExecuteAction,
  Position,
  Problem,
  ReadAction,
} from './plan.ts';
import type { Inspect } from './virtual-files.ts';

/** The whole file before and after; `before` null: there was none. `matches` is empty for CREATE. */
interface WriteEffect {
  kind: 'write';
  action: number;
  path: RepoPath;
  before: Uint8Array | null;
  after: Uint8Array;
  matches: EditMatch[];
}

/** `cwd` is relative to the project, `.` its root. `timeoutMs` null: the default. */
interface CommandEffect {
  kind: 'command';
  action: number;
  script: string;
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number | null;
}

interface ReadEffect {
  kind: 'read';
  action: number;
  path: RepoPath;
  lines: string | null;
}

interface AskEffect {
  kind: 'ask';
  action: number;
  text: string;
}

/** `action` is the action's index, from 1. */
export type Effect = WriteEffect | CommandEffect | ReadEffect | AskEffect;
type EffectOutcome = { effect: Effect } | { problems: Problem[] };

/** Problems carry the index of the action; several only when several pairs of an EDIT do not apply. */
export async function toEffect(action: Action, inspect: Inspect): Promise<EffectOutcome> {
  switch (action.type) {
    case 'CREATE':
      return toCreateEffect(action, await inspect(action.path));
    case 'EDIT':
      return toEditEffect(action, await inspect(action.path));
    case 'READ':
      return await toReadEffect(action, inspect);
    case 'EXECUTE':
      return await toCommandEffect(action, inspect);
    case 'CHAT_WITH_USER':
    case 'PROMPT':
      return toAskEffect(action);
    case 'PRUNE':
    case 'INVOKE':
    case 'RESEARCH':
      return refuse(action, `${action.type} is not supported yet.`, 'Leave it out of the plan.');
  }
}

function toCreateEffect(action: CreateAction, target: FileTarget): EffectOutcome {
  const { index, path, content, overwrite } = action;
  const unusable = whyNotAFile(path, target);
  if (unusable !== null) return refuse(action, `CREATE ${path}: ${unusable}.`, 'Choose another path.');
  const after = new TextEncoder().encode(content);
  // The very same content is no loss: a run that was interrupted after it wrote the file goes through again.
  if (target.kind === 'file' && !overwrite && !equal(target.bytes, after)) {
    return refuse(action, `CREATE ${path}: the file exists already.`, 'Use EDIT, or set `- **Overwrite:** true`.');
  }
  const before = target.kind === 'file' ? target.bytes : null;
  return { effect: { kind: 'write', action: index, path, before, after, matches: [] } };
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

function toEditEffect(action: EditAction, target: FileTarget): EffectOutcome {
  const { index, path, pairs } = action;
  const unusable = whyNotAFile(path, target);
  if (unusable !== null) return refuse(action, `EDIT ${path}: ${unusable}.`, 'Choose another path.');
  if (target.kind !== 'file')
    return refuse(action, `EDIT ${path}: there is no such file.`, 'Use CREATE for a new file.');
  if (pairs.length === 0) {
    return refuse(action, `EDIT ${path}: there is nothing to replace.`, 'Add a `#### FIND:` and a `#### REPLACE:`.');
  }
  const text = decodeText(target.bytes);
  if (text === null) {
    return refuse(
      action,
      `EDIT ${path}: the file is not UTF-8 text.`,
      'Change it with EXECUTE, or replace it with CREATE.',
    );
  }
  const outcome = applyEdit(text, action);
  if (!outcome.ok) {
    const toProblem = (found: Problem) => ({ ...found, action: index, message: `EDIT ${path}: ${found.message}` });
    return { problems: outcome.problems.map(toProblem) };
  }
  const after = new TextEncoder().encode(outcome.text);
  return { effect: { kind: 'write', action: index, path, before: target.bytes, after, matches: outcome.matches } };
}

async function toReadEffect(action: ReadAction, inspect: Inspect): Promise<EffectOutcome> {
  const { resource, index, lines } = action;
  if (resource.kind === 'url') {
    return refuse(action, `READ ${resource.url}: reading a URL is not supported yet.`, 'READ a file of the project.');
  }
  const { path } = resource;
  const unusable = whyUnreadable(path, await inspect(path));
  if (unusable !== null) return refuse(action, `READ ${path}: ${unusable}.`, 'READ a path that the project has.');
  return { effect: { kind: 'read', action: index, path, lines } };
}

async function toCommandEffect(action: ExecuteAction, inspect: Inspect): Promise<EffectOutcome> {
  const { index, script, env, timeoutMs } = action;
  if (script.trim() === '') {
    return refuse(action, 'EXECUTE: the script is empty.', 'Give the commands in a fence, e.g. `npm test`.');
  }
  const cwd = await findDirectory(action.cwd, inspect);
  if ('problem' in cwd) {
    return refuse(
      action,
      `EXECUTE: cwd ${action.cwd}: ${cwd.problem}.`,
      'Name a directory of the project, `.` is its root.',
    );
  }
  return { effect: { kind: 'command', action: index, script, cwd: cwd.path, env, timeoutMs } };
}

function toAskEffect({ index, text }: AskAction): EffectOutcome {
  return { effect: { kind: 'ask', action: index, text } };
}

async function findDirectory(cwd: string, inspect: Inspect): Promise<{ path: string } | { problem: string }> {
  if (cwd === '.') return { path: cwd };
  const parsed = parseRepoPath(cwd);
  if ('problem' in parsed) return parsed;
  const target = await inspect(parsed.path);
  if (target.kind === 'directory') return parsed;
  if (target.kind === 'file') return { problem: 'it is a file' };
  return { problem: whyUnreadable(parsed.path, target) ?? 'it is not a directory' };
}

function whyNotAFile(path: RepoPath, target: FileTarget): string | null {
  return target.kind === 'directory' ? 'it is a directory' : whyOutOfReach(path, target);
}

function whyUnreadable(path: RepoPath, target: FileTarget): string | null {
  return target.kind === 'absent' ? 'there is no such path' : whyOutOfReach(path, target);
}

function whyOutOfReach(path: RepoPath, target: FileTarget): string | null {
  switch (target.kind) {
    case 'outside':
      return `${target.link === path ? 'it' : `\`${target.link}\``} is a symlink that leads out of the project`;
    case 'foreign':
      return `\`${target.repository}\` is a repository of its own`;
    case 'blocked':
      return `\`${target.parent}\` is a file, not a directory`;
    case 'special':
      return 'it is a device, a socket or a pipe';
    case 'absent':
    case 'file':
    case 'directory':
      return null;
  }
}

function refuse(action: Position & { index: number }, message: string, hint: string): { problems: Problem[] } {
  return { problems: [{ line: action.line, column: action.column, message, hint, action: action.index }] };
}
