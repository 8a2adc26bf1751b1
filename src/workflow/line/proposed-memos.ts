/**
 * Memos that agents propose: teddy keeps them only in this repository and shows them to no session until the user adds
 * or removes each one.
 */
import { TeddyError } from '../../errors.ts';
import type { Oid, RefName } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import { parseMemos, renderMemos } from '../../session/global/memos.ts';
import { readGlobal } from './global-branch.ts';
import { writeBytes } from './keep-bytes.ts';
import { moveRefs } from './move-refs.ts';
import { toText } from '../../view/view.ts';

/** Points to a YAML list. */
const proposedRef = 'refs/teddy/keep/proposed-memos' as RefName;
const maxProposed = 50;

/** Returns the proposals in the order in which they were made. */
export async function listProposed(project: Project): Promise<string[]> {
  return (await readProposed(project)).facts;
}

async function readProposed({ repository: { store } }: Project): Promise<{ oid: Oid | null; facts: string[] }> {
  const oid = await store.readRef(proposedRef);
  return { oid, facts: oid === null ? [] : parseMemos(toText(await store.readBlob(oid))) };
}

/** Adds a proposal; `known` means that it is already a memo. Throws USAGE for an empty fact or too many, SECRET_FOUND. */
export async function proposeMemo(project: Project, text: string): Promise<{ fact: string; state: 'waits' | 'known' }> {
  const fact = text.trim();
  if (fact === '') throw new TeddyError('USAGE', 'The fact is empty.', 'State what every session should know.');
  if ((await project.masker.mask(fact)).count > 0)
    throw new TeddyError(
      'SECRET_FOUND',
      'The fact contains a secret.',
      'State it without the secret: every session sees it.',
    );
  const memos = parseMemos((await readGlobal(project, { orRemote: true }))?.memos ?? '');
  if (memos.some((memo) => memo.trim() === fact)) return { fact, state: 'known' };
  await changeProposed(project, (facts) => {
    if (facts.includes(fact)) return facts;
    if (facts.length < maxProposed) return [...facts, fact];
    const message = `${maxProposed} memos are already proposed and waiting for the user.`;
    throw new TeddyError('USAGE', message, 'Ask the user to decide on them: `teddy memo list` shows them.');
  });
  return { fact, state: 'waits' };
}

/** Removes a proposal that the user has decided on. Returns false when nobody had proposed it. */
export async function dropProposal(project: Project, fact: string): Promise<boolean> {
  const { facts } = await readProposed(project);
  if (!facts.includes(fact)) return false;
  await changeProposed(project, (now) => now.filter((one) => one !== fact));
  return true;
}

async function changeProposed(project: Project, change: (facts: string[]) => string[]): Promise<void> {
  const plan = async () => {
    const { oid, facts } = await readProposed(project);
    const changed = change(facts);
    if (changed.length === facts.length) return [];
    const wanted = changed.length === 0 ? null : await writeBytes(project, renderMemos(changed));
    return [{ ref: proposedRef, old: oid, new: wanted }];
  };
  if (await moveRefs(project, plan, 'propose a memo')) return;
  throw new TeddyError('REF_MOVED', `${proposedRef} keeps moving.`, 'Run the command again.');
}
