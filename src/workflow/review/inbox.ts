/** Finds the plans of other people that wait for this user's approval. */
import type { Project } from '../../ports/project.ts';
import { shortRef, type SessionId, type TurnName } from '../../names.ts';
import { listLines } from '../../session/lines/lines.ts';
import { findNewest, type NewestLine } from '../../session/lines/main-lines.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { findPlanned, readLine } from '../../view/view.ts';
import { findAsker, isSamePerson, readApproval, readOwnEmail } from '../line/needed-approval.ts';

export interface WaitingPlan {
  session: SessionId;
  /** The branch with the plan, such as `teddy/<session>`; there may be no local one yet. */
  line: string;
  turn: TurnName;
  /** Null for a plan without a title. */
  title: string | null;
  /** The e-mail address of the person who asked for the plan; null when unknown. */
  from: string | null;
  /** The command that shows the plan as it is waiting. */
  show: string;
}

/**
 * Lists the pending plans that need an approval, that somebody else asked for, and on which this user has not yet given
 * a verdict; newest first. Looks at local branches and at what was fetched, and asks no remote. Empty without an
 * approval policy.
 */
export async function listWaiting(project: Project): Promise<WaitingPlan[]> {
  if (!(await hasPolicy(project))) return [];
  const newest = findNewest(await listLines(project));
  const own = await readOwnEmail(project);
  const planned = await findPlanned(
    project,
    [...newest.values()].map(({ line }) => line),
  );
  const waiting = await Promise.all(
    planned.map((line) => readWaiting(project, { line, isBehind: newest.get(line.branchRef)?.isBehind === true }, own)),
  );
  return waiting.filter((one) => one !== null);
}

/** A branch can only raise what git's configuration and the work tree ask for, so most repositories need no further look. */
export async function hasPolicy({ settings }: Project): Promise<boolean> {
  return (await settings.findAll('approvals')).some(({ value }) => value !== null && value !== '0');
}

async function readWaiting(project: Project, { line, isBehind }: NewestLine, own: string): Promise<WaitingPlan | null> {
  const { session, oid: tip, branchRef } = line;
  const { latest } = await readLine(project.repository.store, tip);
  if (latest?.status !== 'planned') return null;
  const { turn } = latest;
  const { isNeeded, counted, verdicts } = await readApproval(project, { session, tip }, turn);
  if (!isNeeded || counted.length > 0) return null;
  const asker = await findAsker(project, { session, tip }, turn);
  if (isSamePerson(own, asker?.email) || verdicts.some(({ author }) => isSamePerson(own, author.email))) return null;
  const name = shortRef(branchRef);
  const pull = isBehind ? `teddy pull -s ${session} && ` : '';
  return {
    session,
    line: name,
    turn,
    title: latest.parsed?.plan.title ?? null,
    from: asker?.email ?? null,
    show: `${pull}teddy show ${turn} -s ${toShellWord(name)}`,
  };
}
