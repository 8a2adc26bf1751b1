/** Accepts texts that came from elsewhere before a command asks about them. */
import type { Project } from '../../ports/project.ts';
import { findLine } from '../line/find.ts';
import {
  findForeign,
  readContextLists,
  toAgentText,
  toGlobalList,
  trustTexts,
  type SteeringText,
} from '../line/foreign-texts.ts';
import { readGlobal, type GlobalBranch } from '../line/global-branch.ts';
import { listMainLines } from '../../session/lines/main-lines.ts';
import { readLine, readTurnFile, type LineState } from '../../view/view.ts';

/**
 * Returns all agents and context lists that are not trusted yet, both on `teddy/global` and on the line that `plan`
 * would continue, including the prompt of a turn that waits for its answer. With `keep`, trusts them from now on.
 * Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION.
 */
export async function trustGlobal(
  project: Project,
  { selector, keep }: { selector?: string | undefined; keep: boolean },
): Promise<SteeringText[]> {
  const global = await readGlobal(project, { orRemote: true });
  const agents = [...(global?.agents ?? [])].map(([name, text]) => toAgentText(name, text));
  const foreign = await findForeign(project, [...(await readLists(project, global, selector)), ...agents]);
  if (keep) await trustTexts(project, foreign);
  return foreign;
}

async function readLists(
  project: Project,
  global: GlobalBranch | null,
  selector: string | undefined,
): Promise<SteeringText[]> {
  const hasLine = selector !== undefined || (await listMainLines(project)).length > 0;
  const line = hasLine ? await findLine(project, selector) : null;
  const tip = line?.tip ?? line?.remoteTip ?? null;
  if (tip === null) return global === null ? [] : [toGlobalList(global.globalContext)];
  const state = await readLine(project.repository.store, tip);
  return [...(await readContextLists(project, state, global)), ...(await readWaitingPrompt(project, state))];
}

/** Reads the prompt that `plan` sends again for a turn that waits for its answer. */
async function readWaitingPrompt(project: Project, state: LineState): Promise<SteeringText[]> {
  if (state.latest?.status !== 'open') return [];
  const { turn } = state.latest;
  const log = await readTurnFile(
    project.repository.store,
    { commit: state.entryOid, session: state.session, turn },
    '_context.log',
  );
  if (log === null) return [];
  const { readStoredPrompt } = await import('./stored-prompt.ts');
  return readStoredPrompt(project, turn, log);
}
