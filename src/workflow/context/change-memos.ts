/**
 * Lets the user change the memos directly: only `teddy/global` changes, and each line receives its copy with its next
 * message.
 */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { changeMemos, parseMemos } from '../../session/global/memos.ts';
import { changeGlobal, readGlobal } from '../line/global-branch.ts';
import { dropProposal } from '../line/proposed-memos.ts';

/**
 * Returns the memos in order. When there are none in this repository, reads them from the remote if exactly one remote
 * has memos. Throws DAMAGED_SESSION.
 */
export async function listMemos(project: Project): Promise<string[]> {
  return parseMemos((await readGlobal(project, { orRemote: true }))?.memos ?? '');
}

/** Adds a fact; returns true if it is new. Throws USAGE for an empty fact, DAMAGED_SESSION. */
export async function addMemo(project: Project, text: string): Promise<{ fact: string; added: boolean }> {
  const fact = text.trim();
  if (fact === '') throw toEmpty();
  await warnOfSecrets(project, fact);
  const commit = await changeGlobal(project, 'global: add a memo\n', ({ memos }) => {
    const changed = changeMemos(memos, [{ kind: 'add', fact }]);
    return changed.added.length === 0 ? null : [{ name: 'memos.yaml', text: changed.text }];
  });
  await dropProposal(project, fact);
  return { fact, added: commit !== null };
}

/** `wanted` is a fact, its number in the list (from 1), or a proposed fact. Throws UNKNOWN_MEMO, DAMAGED_SESSION. */
export async function removeMemo(project: Project, wanted: string): Promise<{ fact: string }> {
  const facts = await listMemos(project);
  // The number is resolved only once, because after a lost race it may refer to another fact.
  const fact = findFact(facts, wanted.trim());
  if (fact === undefined && (await dropProposal(project, wanted.trim()))) return { fact: wanted.trim() };
  if (fact === undefined) throw toUnknown(facts, wanted);
  await changeGlobal(project, 'global: remove a memo\n', ({ memos }) => {
    const changed = changeMemos(memos, [{ kind: 'remove', fact }]);
    if (changed.removed.length === 0) throw toUnknown(parseMemos(memos), fact);
    return [{ name: 'memos.yaml', text: changed.text }];
  });
  return { fact };
}

/** Warns the user that teddy stores secrets unmasked but masks them whenever a model sees the text. */
export async function warnOfSecrets(project: Project, text: string): Promise<void> {
  const { count } = await project.masker.mask(text);
  if (count === 0) return;
  project.notices.warn(
    `${count === 1 ? 'A secret is' : `${count} secrets are`} in this text. The text is stored unchanged; models see it masked.`,
  );
}

function findFact(facts: string[], wanted: string): string | undefined {
  const same = facts.find((fact) => fact.trim() === wanted);
  return same ?? (/^\d+$/.test(wanted) ? facts[Number(wanted) - 1] : undefined);
}

function toEmpty(): TeddyError {
  return new TeddyError('USAGE', 'The fact is empty.', 'Say what to remember: `teddy memo add "Use pnpm"`.');
}

function toUnknown(facts: string[], wanted: string): TeddyError {
  const hint = facts.length === 0 ? 'There are no memos.' : '`teddy memo list` shows them with their numbers.';
  return new TeddyError('UNKNOWN_MEMO', `There is no memo ${JSON.stringify(wanted.trim())}.`, hint);
}
