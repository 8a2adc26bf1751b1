/** Runs before a command that writes: offers interrupted write sessions, and clears away those over an hour old. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { readRows, writeRows } from '../../session/cached-rows.ts';
import type { WriteView } from '../../workflow/writes/list.ts';
import { sweepWrites } from '../../workflow/writes/clean.ts';
import { askRecover } from './finish-write.ts';
import { askWay, describeLeft, finalizeAndShow, isWhole, type Recovering } from './recover-ways.ts';
import { describeCleaned } from '../render/write.ts';
import { toVisible } from '../../session/visible-text.ts';

export interface Offering extends Omit<Recovering, 'printJson'> {
  /** Whether a person can be asked. */
  canAsk: boolean;
}

/** A failure here is a warning, and does not keep the command from its own work. Throws INTERRUPTED on Ctrl-C. */
export async function offerOrphans(offering: Offering): Promise<void> {
  const { terminal, canAsk } = offering;
  const { orphans, cleaned } = await orNothing(offering, { orphans: [], cleaned: [] }, () =>
    sweepWrites(offering.project),
  );
  for (const one of cleaned) terminal.say(toVisible(describeCleaned(one)));
  for (const view of await orNothing(offering, [], () => takeUnannounced(offering.project, orphans))) {
    const left = `A write session was interrupted: ${describeLeft(offering, view)}.`;
    if (!canAsk) terminal.say(`${left} Recover it: teddy write recover ${view.id}`);
    else {
      terminal.say(left);
      await orNothing(offering, undefined, () => offer(offering, view));
    }
  }
}

const dayMs = 86_400_000;

/** Those that nobody was told of for a day; from now on somebody was. */
async function takeUnannounced(project: Project, orphans: readonly WriteView[]): Promise<WriteView[]> {
  const { cache } = project.repository;
  const nowMs = project.clock.now().getTime();
  const told = (await readRows(cache, 'announced-writes')).filter(([, at]) => nowMs - Number(at) < dayMs);
  const fresh = orphans.filter(({ id }) => !told.some(([known]) => known === id));
  if (fresh.length > 0)
    await writeRows(cache, 'announced-writes', [...told, ...fresh.map(({ id }) => [id, String(nowMs)])]);
  return fresh;
}

async function offer(offering: Offering, view: WriteView): Promise<void> {
  const { terminal, project, signal } = offering;
  const recovering = { ...offering, printJson: null };
  if (!(await askRecover(terminal, signal))) return;
  if (await isWhole(project, view)) await finalizeAndShow(recovering, view.id, false);
  else await askWay(recovering, view);
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
