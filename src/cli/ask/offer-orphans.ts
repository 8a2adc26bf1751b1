/** Offers interrupted write sessions, and clears away sessions over an hour old, before a command that writes. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { readRows, writeRows } from '../../session/entries/cached-rows.ts';
import type { WriteView } from '../../workflow/writes/list.ts';
import { sweepWrites } from '../../workflow/writes/clean.ts';
import { askRecover } from './finish-write.ts';
import { askWay, describeLeft, finalizeAndShow, isWhole, type Recovering } from './recover-ways.ts';
import { describeCleaned } from '../render/write.ts';
import { toVisible } from '../../session/text/visible-text.ts';

export interface Offering extends Omit<Recovering, 'printJson'> {
  /** True when teddy can ask the user. */
  canAsk: boolean;
}

/** Only warns about a failure, and lets the command continue. Throws INTERRUPTED on Ctrl-C. */
export async function offerOrphans(offering: Offering): Promise<void> {
  const { terminal, canAsk } = offering;
  const { orphans, cleaned } = await orNothing(offering, { orphans: [], cleaned: [] }, () =>
    sweepWrites(offering.project),
  );
  for (const one of cleaned) terminal.say(toVisible(describeCleaned(one)));
  // Asks the user on every command until the user answers; when it cannot ask anybody, reports the session once a day.
  const told = canAsk ? 'answered-writes' : 'announced-writes';
  for (const view of await orNothing(offering, [], () => findFresh(offering.project, told, orphans))) {
    const left = `A write session was interrupted: ${describeLeft(offering, view)}.`;
    terminal.say(
      canAsk
        ? left
        : `${left} Continue it: teddy write recover ${view.id}, or with a model: teddy write ask --resume ${view.id}`,
    );
    const isDone = !canAsk || (await orNothing(offering, false, () => offer(offering, view)));
    if (isDone) await orNothing(offering, undefined, () => noteTold(offering.project, told, view));
  }
}

const dayMs = 86_400_000;

async function readTold({ repository: { cache }, clock }: Project, told: string): Promise<string[][]> {
  const nowMs = clock.now().getTime();
  return (await readRows(cache, told)).filter(([, at]) => nowMs - Number(at) < dayMs);
}

async function findFresh(project: Project, told: string, orphans: readonly WriteView[]): Promise<WriteView[]> {
  if (orphans.length === 0) return [];
  const known = await readTold(project, told);
  return orphans.filter(({ id }) => !known.some(([one]) => one === id));
}

async function noteTold(project: Project, told: string, { id }: WriteView): Promise<void> {
  const row = [id, String(project.clock.now().getTime())];
  await writeRows(project.repository.cache, told, [...(await readTold(project, told)), row]);
}

/** Returns true if the user chose to leave the session unchanged. */
async function offer(offering: Offering, view: WriteView): Promise<boolean> {
  const { terminal, project, signal } = offering;
  const recovering = { ...offering, printJson: null };
  const answer = await askRecover(terminal, signal);
  if (answer !== true) return answer === false;
  if (await isWhole(project, view)) await finalizeAndShow(recovering, view.id, false);
  else await askWay(recovering, view);
  return false;
}

async function orNothing<Value>({ project }: Offering, nothing: Value, use: () => Promise<Value>): Promise<Value> {
  try {
    return await use();
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code === 'INTERRUPTED') throw error;
    project.notices.warn([error.message, error.hint ?? ''].join(' ').trim());
    return nothing;
  }
}
