/**
 * Opens a file on `teddy/global` in the user's editor. Checks the file before committing anything, and never loses the
 * user's text.
 */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { endLine } from '../../session/context/context-log-sections.ts';
import { parseGlobalFile } from '../../session/global/global-files.ts';
import { parseMemos } from '../../session/global/memos.ts';
import type { Oid } from '../../names.ts';
import { warnOfSecrets } from './change-memos.ts';
import { ensureGlobal, readGlobal } from '../line/global-branch.ts';
import { readGlobalFile, saveGlobalFile } from '../line/save-global.ts';
import { toAgentTemplate, withoutTemplateNote } from '../../conversation/prompts/agents.ts';

interface GlobalEdited {
  file: string;
  /** Null when nothing was changed. */
  commit: Oid | null;
  /**
   * True when the user saved an empty agent: saving it removes the agent, and a built-in agent with the same name takes
   * effect again.
   */
  removed: boolean;
}

/** Opens the file for the user, and returns the edited text. */
type Compose = (initial: string, fileName: string) => Promise<string>;

/** Throws USAGE, BAD_NAME, and VALIDATION_FAILED or REF_MOVED, which name the blob with the user's text. */
export async function editGlobal(project: Project, name: string, compose: Compose): Promise<GlobalEdited> {
  const file = parseGlobalFile(name);
  await ensureGlobal(project);
  const base = readGlobalFile(await readGlobal(project), file.name);
  const initial = file.agent !== null && base === '' ? toAgentTemplate(file.agent) : base;
  const edited = await compose(initial, file.name.split('/').at(-1) ?? file.name);
  if (edited === initial) return { file: file.name, commit: null, removed: false };
  const isEmptied = file.agent !== null && edited.trim() === '';
  const mine = isEmptied ? '' : endLine(withoutTemplateNote(edited));
  try {
    if (file.name === 'memos.yaml') parseMemos(mine);
    await warnOfSecrets(project, mine);
    const commit = await saveGlobalFile(project, file.name, { base, mine });
    return { file: file.name, commit, removed: isEmptied && commit !== null };
  } catch (error) {
    throw await withKept(project, edited, error);
  }
}

/** Keeps the user's text, so that nobody has to rewrite it because of a misplaced colon. */
async function withKept(project: Project, text: string, error: unknown): Promise<unknown> {
  if (!(error instanceof TeddyError) || text.trim() === '') return error;
  const batch = project.repository.store.batch();
  const oid = await batch.blob(text);
  await batch.flush();
  const code = error.code === 'DAMAGED_SESSION' ? 'VALIDATION_FAILED' : error.code;
  const kept = `Nothing was changed. To get your text back: \`git cat-file -p ${oid}\`.`;
  return new TeddyError(code, error.message, `${kept} ${error.hint ?? ''}`.trim(), { cause: error });
}
