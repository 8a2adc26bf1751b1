/** Capture and its gate as a part of what `teddy init` sets up. */
import { TeddyError } from '../../errors.ts';
import type { AgentSetup, AgentState } from '../../ports/agent-setup.ts';
import type { Change, Part, PartLook, SetupRecords, Step } from '../../ports/setup.ts';
import { isHooked, type CapturedProject, installCapture, stopCapture, titlesOf, uninstallHooksOf } from './install.ts';

/** Records the agents whose hooks this repository's `teddy init` has added; other repositories may need all others. */
const recordKey = 'capture';

export function capturePart(project: CapturedProject, setup: AgentSetup, records: SetupRecords): Part {
  const readAdded = async (): Promise<unknown[]> => {
    const { agents } = (await records.read(recordKey)) ?? {};
    return Array.isArray(agents) ? agents : [];
  };
  const install = async (agents: readonly AgentState[], tell: Tell, gate?: boolean) => {
    const added = agents.filter((agent) => !isHooked(agent)).map(({ name }) => name);
    await records.write(recordKey, { agents: [...new Set([...(await readAdded()), ...added])] });
    const outcomes = await installCapture(project, setup, agents, gate);
    for (const { name, title, hooks, trusted } of await setup.list())
      if (hooks === 'installed' && trusted === false && agents.some((agent) => agent.name === name))
        tell(`${title} runs the hooks only after you trust them: start it, and answer \`/hooks\` once.`);
    throwFirst(outcomes, tell);
  };
  return {
    name: 'capture',
    look: () => look(project, setup),
    async planSetUp() {
      if (project.repository.workspace === null) return ['This repository has no work tree.'];
      const [agents, script, { state }] = await Promise.all([setup.list(), setup.script(), look(project, setup)]);
      const found = agents.filter((agent) => agent.found);
      if (found.length === 0) return [noAgent];
      const changes = await preview(setup, found, true);
      if (script.state !== 'installed') changes.push({ what: `writes ${script.path}` });
      if (state !== 'set-up') changes.push({ what: 'sets teddy.capture' });
      const ungated = found.filter(({ canGate, gate }) => canGate && !gate);
      const gate = {
        does: `Make plans in ${titlesOf(ungated)} wait until somebody approves them`,
        changes: ungated.map(({ path }) => ({ what: `adds a hook to ${path}` })),
        isExtra: true,
        carryOut: (tell: Tell) => install(ungated, tell, true),
      };
      const gates = ungated.length === 0 ? [] : [gate];
      if (changes.length === 0) return gates;
      const does = `Capture ${titlesOf(found)}`;
      const [next] = gates;
      const carryOut = async (tell: Tell) => {
        await install(found, tell);
        tell('Go on working as before: `teddy list` shows what is captured.');
      };
      return [{ does, changes, carryOut, ...(next && { next }) }];
    },
    async planRemoval() {
      const [agents, added] = [await setup.list(), await readAdded()];
      const isOn = (await project.spool.look()).exists || (await project.settings.find('capture')).value === 'true';
      const noted = agents.filter((agent) => added.includes(agent.name));
      const mine = noted.filter(isHooked);
      if (!isOn && noted.length === 0) return [];
      const others = agents.filter((agent) => isHooked(agent) && !added.includes(agent.name));
      const changes = await preview(setup, mine, false);
      if (isOn) changes.push({ what: 'unsets teddy.capture' });
      const carryOut = async (tell: Tell) => {
        const { kept } = await stopCapture(project);
        if (kept !== null) tell(`Hook calls that teddy has not read yet are kept in ${kept}.`);
        // The note comes before the hooks: an interrupted command may have left something without them.
        throwFirst(await uninstallHooksOf(setup, noted), tell);
        await records.remove(recordKey);
        if (mine.length > 0) tell('If you capture other repositories, run `teddy capture install` there again.');
      };
      const does = `Stop capturing here${mine.length === 0 ? '' : `, and remove the hooks for ${titlesOf(mine)}`}`;
      const stay = `The hooks for ${titlesOf(others)} stay, because init did not add them: \`teddy capture uninstall --all\`.`;
      return [...(others.length === 0 ? [] : [stay]), { does, changes, carryOut }];
    },
  };
}

type Tell = Parameters<Step['carryOut']>[0];

const noAgent = 'No agent that teddy can capture is installed here.';

async function look({ settings, spool }: CapturedProject, setup: AgentSetup): Promise<PartLook> {
  const [agents, script, { exists }, { value }] = await Promise.all([
    setup.list(),
    setup.script(),
    spool.look(),
    settings.find('capture'),
  ]);
  const isSet = value === 'true';
  if (!isSet && !exists) {
    if (agents.some(({ found }) => found)) return { state: 'missing', why: null };
    return { state: 'not-applicable', why: noAgent };
  }
  const changed = agents.find(({ hooks }) => hooks === 'changed');
  let why = changed === undefined ? null : `Some hooks for ${changed.title} are missing or were changed.`;
  if (script.state === 'missing' || script.state === 'broken')
    why = `${script.path}, which the hooks run, does not work.`;
  if (!agents.some(isHooked)) why = 'No agent has the hooks.';
  if (isSet !== exists)
    why = `teddy.capture is ${isSet ? 'set' : 'not set'}, but the hooks ${exists ? '' : 'cannot '}record.`;
  return { state: why === null ? 'set-up' : 'partly', why };
}

/** An agent whose file is in the way is reported when its turn comes, and does not stop the others. */
async function preview(setup: AgentSetup, agents: readonly AgentState[], isInstall: boolean): Promise<Change[]> {
  const changes = agents.map(async ({ name, path }): Promise<Change[]> => {
    try {
      return [(await setup.preview(name, isInstall)) ?? []].flat();
    } catch (error) {
      if (!(error instanceof TeddyError)) throw error;
      return [{ what: `cannot change ${path}` }];
    }
  });
  return (await Promise.all(changes)).flat();
}

function throwFirst(outcomes: readonly { error: TeddyError | null }[], tell: Tell): void {
  const [first, ...others] = outcomes.flatMap(({ error }) => error ?? []);
  for (const { message } of others) tell(message);
  if (first !== undefined) throw first;
}
