/** Saves the user's edit of a file on `teddy/global`, merged with others' changes made meanwhile. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { parseGlobalFile } from '../../session/global/global-files.ts';
import { mergeGlobalFile } from '../../session/global/merge-global.ts';
import type { Oid } from '../../names.ts';
import { isTrusted, trustTexts } from './foreign-texts.ts';
import { changeGlobal, type GlobalBranch } from './global-branch.ts';

export interface GlobalEdit {
  /** A file on `teddy/global`. */
  name: string;
  base: string;
  /** The user's version, edited from `base`. Saving an empty agent removes it. */
  mine: string;
}

/**
 * Saves the edit. Returns the new commit, or null when the file already has this content. Throws REF_MOVED when both
 * sides have changed an agent; DAMAGED_SESSION when the memos cannot be read.
 */
export async function saveGlobalFile(
  project: Project,
  name: string,
  { base, mine }: Omit<GlobalEdit, 'name'>,
): Promise<Oid | null> {
  await trustOwn(project, name, mine);
  const isRemoved = mine === '' && parseGlobalFile(name).agent !== null;
  return changeGlobal(project, `global: ${isRemoved ? 'remove' : 'edit'} ${name}\n`, async (current) => {
    const text = await mergeEdit(project, current, { name, base, mine });
    return text === readGlobalFile(current, name) ? null : [{ name, text: isRemoved ? null : text }];
  });
}

/**
 * Returns `teddy/global` as it would be after the user's edit of memos or context, and saves nothing. Throws as
 * `saveGlobalFile`.
 */
export async function previewGlobalFile(
  project: Project,
  current: GlobalBranch,
  edit: GlobalEdit,
): Promise<GlobalBranch> {
  await trustOwn(project, edit.name, edit.mine);
  const text = await mergeEdit(project, current, edit);
  return edit.name === 'memos.yaml' ? { ...current, memos: text } : { ...current, globalContext: text };
}

async function trustOwn(project: Project, name: string, text: string): Promise<void> {
  if (name !== 'memos.yaml' && text !== '') await trustTexts(project, [{ text }]);
}

async function mergeEdit(project: Project, current: GlobalBranch, { name, base, mine }: GlobalEdit): Promise<string> {
  const theirs = readGlobalFile(current, name);
  const text = mergeGlobalFile(name, { base, mine, theirs });
  if (text === null)
    throw new TeddyError(
      'REF_MOVED',
      `${name} was changed by somebody else while you edited it.`,
      `Edit it again: \`teddy global edit ${name}\`.`,
    );
  // A merge of two trusted texts adds nothing new.
  if (name === 'global.context' && (await isTrusted(project, { kind: 'context', text: theirs }))) {
    await trustTexts(project, [{ text }]);
  }
  return text;
}

/** Returns the content of the file; empty when it does not exist. */
export function readGlobalFile(global: GlobalBranch | null, name: string): string {
  if (name === 'memos.yaml') return global?.memos ?? '';
  if (name === 'global.context') return global?.globalContext ?? '';
  return global?.agents.get(parseGlobalFile(name).agent ?? '') ?? '';
}
