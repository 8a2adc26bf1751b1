/**
 * Adds trailers to the user's own commits on a line: the session and turn in which they were made, and, if configured,
 * the models that took part.
 */
import { TeddyError } from '../../errors.ts';
import type { MessageFile } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { joinAssistants, renderDisclosure, toDisclosure, leaveOutKnown } from '../../session/entries/assisted-by.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import {
  compareTurns,
  isTurnName,
  sessionDir,
  type Oid,
  type RefName,
  type TurnName,
  type SessionId,
} from '../../names.ts';
import { findHeadLine, type Line } from '../line/find.ts';
import { findEntry } from '../../view/view.ts';
import { readAssistance, type AssistedTurn } from '../line/read-assistance.ts';
import { endsInTrailers } from '../../session/entries/trailers.ts';

export interface CommitOptions {
  /** True when the user edits the message in an editor, so that git adds its comments. */
  isEdited: boolean;
  /** The index to commit, if git named one; null for the work tree's. */
  indexFile: string | null;
  /** Lists the lines on which other agents are working or were working recently. */
  listCaptured(): Promise<RefName[]>;
}

/**
 * Adds the trailers to the message of the commit in progress. Does nothing in a merge, which has git's message; when
 * HEAD is not on a line, names only models.
 */
export async function addDuringTrailer(project: Project, message: MessageFile, options: CommitOptions): Promise<void> {
  const { workspace, store } = project.repository;
  const line = await findHeadLine(project);
  if ((await workspace?.operationInProgress(null)) === 'merge') return;
  const text = await message.read();
  const comment = (await store.setting('core.commentchar')) ?? '#';
  const form = { hasComments: options.isEdited, comment: toBytes(comment) };
  // A message that takes no `Teddy-During` trailer takes none of these either.
  if (addDuring(text, ['Teddy-During: any'], form) === text) return;
  const turn = line === null ? null : await readLatestTurn(project, line);
  const during = line === null ? [] : [duringTrailer(line.session, turn)];
  const changed = addDuring(text, [...during, ...(await nameModels(project, line, turn, options))].map(toBytes), form);
  if (changed !== text) await message.write(changed);
}

async function readLatestTurn({ repository: { store } }: Project, { tip }: Line): Promise<TurnName | null> {
  if (tip === null) return null;
  const { oid, entry } = await findEntry(store, tip);
  const directories = (await store.readDir(oid, sessionDir(entry.session)))?.entries ?? [];
  const turns = directories.map(({ name }) => name).filter(isTurnName);
  return turns.toSorted(compareTurns).at(-1) ?? null;
}

/** Names the models. Reports a wrong setting or line, but does not stop any commit. */
async function nameModels(
  project: Project,
  line: Line | null,
  turn: TurnName | null,
  options: CommitOptions,
): Promise<string[]> {
  try {
    if ((await project.settings.get('assistedByHook')) !== 'true') return [];
    const template = toDisclosure(await project.settings.get('assistedBy'));
    if (template === null) return [];
    const turns = await findTurns(project, line, turn, options);
    return renderDisclosure(template, joinAssistants(turns.flatMap(({ assistants }) => assistants)));
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    project.notices.warn(`No model is named in the commit: ${error.message}`);
    return [];
  }
}

/**
 * Finds the turns with models that certainly took part in the commit: the line's latest turn, if the commit changes a
 * file that the turn's model has changed; and other agents' turns that left a file exactly as committed.
 */
async function findTurns(
  project: Project,
  line: Line | null,
  turn: TurnName | null,
  { indexFile, listCaptured }: CommitOptions,
): Promise<AssistedTurn[]> {
  const staged = (await project.repository.workspace?.stagedChanges(indexFile)) ?? [];
  if (staged.length === 0) return [];
  const found: AssistedTurn[] = [];
  for (const one of line?.tip ? await readLately(project, line.tip) : []) {
    const isMeant = one.session === line?.session && one.turn === turn;
    if (isMeant && staged.some(({ path }) => one.changes.has(path) || one.commandFiles.has(path))) found.push(one);
  }
  for (const ref of await listCaptured()) {
    const tip = ref === line?.ref ? null : await project.repository.store.resolve(ref);
    for (const one of tip === null ? [] : await readLately(project, tip))
      if (staged.some(({ path, after }) => after !== null && one.changes.get(path)?.after === after)) found.push(one);
  }
  return found;
}

/** Limited because the user waits for the commit. */
const maxCommits = 200;

async function readLately(project: Project, tip: Oid): Promise<AssistedTurn[]> {
  let base: Oid | null = null;
  let count = 0;
  for await (const { oid, commit } of project.repository.store.firstParents(tip)) {
    base = oid;
    count += 1;
    if (count > maxCommits || decodeEntry(commit.message)?.kind === 'start') break;
  }
  return (await readAssistance(project, tip, base)).turns;
}

/** Converts the text back to the message's original bytes. */
function toBytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
}

/** The way in which git has prepared a commit's message. */
export interface MessageForm {
  /**
   * True when git adds comments to the message for a user with an editor. Otherwise a line that looks like a comment
   * belongs to the message.
   */
  hasComments: boolean;
  /** A comment's beginning, according to `core.commentChar`: `#`, `auto`. */
  comment: string;
}

/** Returns the trailer; `turn` is null when the session has none yet. */
export function duringTrailer(session: SessionId, turn: TurnName | null): string {
  return `Teddy-During: ${turn === null ? session : `${session} ${turn}`}`;
}

/**
 * Returns a commit's message, comments included, with the trailers at its end and everything else unchanged. Adds
 * nothing to an empty message, which aborts a commit; to a message that already has teddy's trailers; or to a message
 * that `git rebase --autosquash` will take apart. Does not repeat a trailer that the message already has.
 */
export function addDuring(text: string, trailers: readonly string[], form: MessageForm): string {
  const end = findEnd(text, form);
  const said = text.slice(0, end);
  const lines = said.split('\n').filter((line) => !isComment(line, text, form));
  const subject = lines.find((line) => line.trim() !== '');
  if (subject === undefined || /^(?:fixup|squash|amend)! /.test(subject)) return text;
  if (/^Teddy-(?:During|Session|Landed-From):/im.test(said)) return text;
  const kept = lines.join('\n');
  const added = leaveOutKnown(kept, trailers);
  if (added.length === 0) return text;
  const rest = text.slice(end);
  return `${said}${endsInTrailers(kept) ? '\n' : '\n\n'}${added.join('\n')}${rest === '' ? '\n' : rest}`;
}

/** Returns where the message's last line ends: before git's comments, and before the diff that `commit --verbose` shows. */
function findEnd(text: string, form: MessageForm): number {
  const cut = form.hasComments ? text.search(/^\S+ -{24} >8 -{24}$/m) : -1;
  const lines = (cut === -1 ? text : text.slice(0, cut)).split('\n');
  while (lines.length > 0 && isIdle(lines.at(-1) ?? '', text, form)) lines.pop();
  return lines.join('\n').length;
}

function isIdle(line: string, text: string, form: MessageForm): boolean {
  return line.trim() === '' || isComment(line, text, form);
}

function isComment(line: string, text: string, { hasComments, comment }: MessageForm): boolean {
  return hasComments && line.startsWith(comment === 'auto' ? chosenComment(text) : comment);
}

/** With `auto`, git chooses a character with which none of the message's lines begins; its comments are the last lines. */
function chosenComment(text: string): string {
  const cut = /^(\S+) -{24} >8 -{24}$/m.exec(text)?.[1];
  return cut ?? /^([#;@!$%^&|:])[^\n]*$/.exec(text.trimEnd().split('\n').at(-1) ?? '')?.[1] ?? '#';
}
