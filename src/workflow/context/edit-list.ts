/** Adds paths to the user's own context lists and removes them; saves a list only when every path has an effect. */
import { TeddyError, type ErrorCode } from '../../errors.ts';
import { joinPath, sessionDir, shortRef, type Oid, type RepoPath, type SessionId } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import { addContextLine, dropContextLine } from '../../session/context/context-lines.ts';
import { formatCount } from '../../session/text/format-count.ts';
import { isSecretName } from '../../session/masks/secret-names.ts';
import { append } from '../line/append.ts';
import { labelEdits } from '../line/entry-labels.ts';
import { ensureGlobal, readGlobal } from '../line/global-branch.ts';
import { prepareLine, type ReadyLine } from '../line/prepare.ts';
import { toText } from '../../view/view.ts';
import {
  requireTrust,
  toGlobalList,
  trustTexts,
  type ApproveForeign,
  type SteeringText,
} from '../line/foreign-texts.ts';
import { saveGlobalFile } from '../line/save-global.ts';
import { type ContextRow } from './rows.ts';
import { showContext, showListed, type ShownContext, type SpentBudget } from './show.ts';

interface ListEdit {
  selector?: string | undefined;
  kind: 'add' | 'drop';
  /** The project's paths, directories, patterns or URLs. */
  paths: readonly string[];
  /** True to edit `global.context` instead of `session.context`. */
  isGlobal: boolean;
  /** Asks the user to accept a list that came from elsewhere, because editing it would count as accepting all of it. */
  approveForeign?: ApproveForeign | undefined;
}

export interface EditedList {
  file: 'session.context' | 'global.context';
  session: SessionId | null;
  /** The commit on the line or on `teddy/global`; null when nothing changed. */
  commit: Oid | null;
  cameIn: ContextRow[];
  wentOut: ContextRow[];
  /** The paths that changed nothing, each with the list line that already shows it. */
  already: { path: string; from: string }[];
  /** The added paths with names that suggest secrets. */
  secrets: string[];
  budget: SpentBudget | null;
}

/** A list during editing. */
interface OpenList {
  file: EditedList['file'];
  text: string;
  /** The list's last saved text, whoever saved it. */
  saved: SteeringText;
  show(text: string): Promise<Shown>;
  save(text: string): Promise<Oid | null>;
}

type Shown = Pick<ShownContext, 'files' | 'leftOut'> & { budget: SpentBudget | null };

/**
 * Throws BAD_TARGET, FILE_NOT_FOUND, CONTEXT_TOO_LARGE, NOT_APPROVED, and the errors of `prepareLine`; in these cases
 * nothing changes.
 */
export async function editContextList(project: Project, edit: ListEdit): Promise<EditedList> {
  const line = await findOwnLine(project, edit);
  const opened = edit.isGlobal
    ? await openGlobalList(project, line)
    : await openSessionList(project, requireLine(line));
  const list = { ...opened, show: rememberShown(opened.show) };
  await requireTrust(project, line === null ? '<session>' : shortRef(line.ref), [list.saved], edit.approveForeign);
  const before = await list.show(list.text);
  const changed = edit.kind === 'add' ? await addAll(list, edit.paths) : await dropAll(list, edit.paths);
  const { text, already } = changed;
  const after = text === list.text ? before : await list.show(text);
  const cameIn = findNew(after, before);
  if (edit.kind === 'add' && text !== list.text) refuseOverBudget(list.file, after, cameIn);
  return {
    file: list.file,
    session: line?.session ?? null,
    commit: text === list.text ? null : await list.save(text),
    cameIn,
    wentOut: findNew(before, after),
    already,
    secrets: cameIn.flatMap(({ path }) => (isSecretName(path as RepoPath) ? [path] : [])),
    budget: after.budget,
  };
}

/** Keeps the results, because teddy looks up the same text several times and a large directory takes long to read. */
function rememberShown(show: OpenList['show']): OpenList['show'] {
  const known = new Map<string, Promise<Shown>>();
  return (text) => {
    const shown = known.get(text) ?? show(text);
    known.set(text, shown);
    return shown;
  };
}

/** Returns null when the user edits the global list and there is no session with a next turn in which to show the effect. */
async function findOwnLine(project: Project, { selector, isGlobal }: ListEdit): Promise<ReadyLine | null> {
  try {
    return await prepareLine(project, selector);
  } catch (error) {
    const isNone = error instanceof TeddyError && noSession.includes(error.code);
    if (isGlobal && selector === undefined && isNone) return null;
    throw error;
  }
}

const noSession: readonly ErrorCode[] = ['NO_OPEN_SESSION', 'UNKNOWN_SESSION'];

function requireLine(line: ReadyLine | null): ReadyLine {
  if (line === null)
    throw new TeddyError('NO_OPEN_SESSION', 'There is no session yet.', 'Start one: `teddy new <name>`.');
  return line;
}

async function openSessionList(project: Project, line: ReadyLine): Promise<OpenList> {
  const { ref, session, workspace, state } = line;
  const { store } = project.repository;
  const path = joinPath(sessionDir(session), 'session.context');
  const published = (await store.readFile(state.tip, path))?.bytes ?? null;
  const text = toText((await workspace?.readDisk(path)) ?? published);
  const selector = shortRef(ref);
  return {
    file: 'session.context',
    text,
    saved: { kind: 'context', name: `session.context of ${session}`, text: toText(published) },
    show: (edited) => showContext(project, { selector, lists: { session: edited } }),
    async save(edited) {
      // The user has just named the paths, so they need no approval.
      await trustTexts(project, [{ text: edited }]);
      const { commit } = await append(project, line, ({ latest }) => {
        const turn = latest === null || latest.status === 'closed' ? null : latest.turn;
        return [{ kind: 'snapshot', turn, label: labelEdits([path]), code: { files: [{ path, bytes: edited }] } }];
      });
      return commit;
    },
  };
}

async function openGlobalList(project: Project, line: ReadyLine | null): Promise<OpenList> {
  await ensureGlobal(project);
  const text = (await readGlobal(project))?.globalContext ?? '';
  const selector = line === null ? undefined : shortRef(line.ref);
  return {
    file: 'global.context',
    text,
    saved: toGlobalList(text),
    show: (edited) =>
      line === null ? showListed(project, edited) : showContext(project, { selector, lists: { global: edited } }),
    save: (edited) => saveGlobalFile(project, 'global.context', { base: text, mine: edited }),
  };
}

type Changed = { text: string; already: EditedList['already'] };

/** Adds a list line for each path that brings in a file; a path that is already shown needs none. */
async function addAll(list: OpenList, paths: readonly string[]): Promise<Changed> {
  const { file, show } = list;
  let { text } = list;
  const already: EditedList['already'] = [];
  for (const path of paths) {
    const undone = dropContextLine(text, path, { removes: true });
    const added = addContextLine(undone, path);
    const shown = await show(added);
    const place = `${file}:${countLines(added)}`;
    const rows = shown.files.filter(({ from }) => from === place);
    if (rows.length > 0) {
      refuseMissing(path, rows);
      text = added;
      continue;
    }
    const reasons = shown.leftOut.filter(({ from }) => from === place).map(({ reason }) => reason);
    if (reasons.length > 0) throw new TeddyError('BAD_TARGET', `${path}: ${reasons[0]}.`, unchanged(file));
    const known = shown.files.find((row) => isAt(row.path, path));
    // A pattern is already shown when other list lines show everything that it matches.
    already.push({ path, from: known?.from ?? shown.files[0]?.from ?? file });
    text = undone;
  }
  return { text, already };
}

/** Removes the path's own list line; if other list lines still show the path, adds a line with `!` that excludes it. */
async function dropAll(list: OpenList, paths: readonly string[]): Promise<Changed> {
  const { file, show } = list;
  let { text } = list;
  for (const path of paths) {
    const dropped = dropContextLine(text, path);
    const vetoed = addContextLine(dropped, path, { removes: true });
    const [without, against] = [await show(dropped), await show(vetoed)];
    const bad = against.leftOut.find(
      ({ path: refused, from }) => from === `${file}:${countLines(vetoed)}` && refused === `!${path}`,
    );
    if (bad !== undefined) throw new TeddyError('BAD_TARGET', `${path}: ${bad.reason}.`, unchanged(file));
    if (against.files.length < without.files.length) text = vetoed;
    else if (dropped !== text) text = dropped;
    else
      throw new TeddyError(
        'FILE_NOT_FOUND',
        `${path} is not in the context, so there is nothing to drop.`,
        '`teddy context` lists what the model sees.',
      );
  }
  return { text, already: [] };
}

function countLines(text: string): number {
  return text.split('\n').length - 1;
}

function isAt(path: string, wanted: string): boolean {
  const directory = wanted.replace(/^\.\//, '').replace(/\/+$/, '');
  return path === directory || directory === '.' || path.startsWith(`${directory}/`);
}

function refuseMissing(path: string, rows: readonly ContextRow[]): void {
  if (rows.some(({ kind }) => kind !== 'missing')) return;
  throw new TeddyError(
    'FILE_NOT_FOUND',
    `The project has no file or directory ${path}.`,
    "Name one that exists, or a pattern in quotes: `teddy context add 'src/**/*.ts'`.",
  );
}

function unchanged(file: string): string {
  return `${file} was not changed. \`teddy context\` lists what the model sees.`;
}

function refuseOverBudget(file: string, { budget }: Shown, cameIn: readonly ContextRow[]): void {
  if (budget === null || budget.left >= 0 || cameIn.length === 0) return;
  const tokens = cameIn.reduce((sum, row) => sum + row.tokens, 0);
  const files = `${formatCount(cameIn.length)} ${cameIn.length === 1 ? 'file' : 'files'}`;
  throw new TeddyError(
    'CONTEXT_TOO_LARGE',
    `That would add ${files} with about ${formatCount(tokens)} tokens, and the request would exceed its budget of ${formatCount(budget.total)} tokens by ${formatCount(-budget.left)}; ${file} was not changed.`,
    'Name fewer files, or raise the budget: `git config teddy.contextTokens <number>`.',
  );
}

/** Returns the rows that `than` does not show. */
function findNew({ files }: Shown, than: Shown): ContextRow[] {
  const known = new Set(than.files.map(({ path }) => path));
  return files.filter(({ path }) => !known.has(path));
}
