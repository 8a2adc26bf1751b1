/** Sets up the parts of a repository, removes them again, and tells the doctor which are damaged. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import {
  partNames,
  type Part,
  type PartLook,
  type PartName,
  type PartPlan,
  type SetupTools,
  type Step,
} from '../../ports/setup.ts';
import { globalRef, type Oid } from '../../names.ts';
import type { Store } from '../../ports/git.ts';
import { nearestName } from '../../session/text/name-some.ts';
import { initProject } from '../line/global-branch.ts';
import { moveRefs } from '../line/move-refs.ts';

/** A part, with what would be done about it. */
export interface PlannedPart extends PartLook {
  part: Part;
  plan: PartPlan;
  /** Why there is no plan; null otherwise. */
  error: TeddyError | null;
}

/** Reads `--only`: names with commas. Throws USAGE. */
export function chooseParts(all: readonly Part[], only: string | undefined): readonly Part[] {
  const names = only?.split(',').map((name) => name.trim());
  const unknown = names?.find((name) => !partNames.some((one) => one === name));
  if (unknown === undefined) return all.filter(({ name }) => names?.includes(name) ?? true);
  const nearest = nearestName(unknown, partNames);
  throw new TeddyError(
    'USAGE',
    `There is no part ${JSON.stringify(unknown)} to set up.`,
    `${nearest === null ? '' : `Is it ${nearest}? `}The parts are ${partNames.join(', ')}.`,
  );
}

/** Changes nothing. A part that cannot be examined does not stop the others. */
export async function planParts(parts: readonly Part[], isRemoval: boolean): Promise<PlannedPart[]> {
  const planned: PlannedPart[] = [];
  for (const part of parts) {
    const one: PlannedPart = { part, state: 'partly', why: null, plan: [], error: null };
    planned.push(one);
    try {
      Object.assign(one, await part.look());
      one.plan = await (isRemoval ? part.planRemoval() : part.planSetUp());
    } catch (error) {
      one.error = toExpected(error);
    }
  }
  return planned;
}

/** Throws anything but a failure that the user should read about while the other parts go on. */
function toExpected(error: unknown): TeddyError {
  if (error instanceof TeddyError && error.code !== 'INTERRUPTED') return error;
  throw error;
}

/** How the user decides, and what the user is told. */
export interface SetUpDialogue {
  /** Returns true for yes. */
  decide(part: PlannedPart, step: Step): Promise<boolean>;
  tell(part: PlannedPart, sentence: string): void;
  onDone(part: PlannedPart, step: Step): void;
  onFailed(error: TeddyError): void;
}

/** Carries out what the user accepts. What fails does not stop the rest, and can be done again. */
export async function carryOutParts(planned: readonly PlannedPart[], dialogue: SetUpDialogue): Promise<void> {
  for (const one of planned) {
    if (one.error !== null) dialogue.onFailed(one.error);
    for (const step of one.plan) {
      if (typeof step === 'string') dialogue.tell(one, step);
      else if ((await carryOut(one, step, dialogue)) && one.part.isChoice === true) break;
    }
  }
}

async function carryOut(one: PlannedPart, step: Step, dialogue: SetUpDialogue): Promise<boolean> {
  if (!(await dialogue.decide(one, step))) return false;
  try {
    await step.carryOut((sentence) => dialogue.tell(one, sentence));
    dialogue.onDone(one, step);
    if (step.next !== undefined) await carryOut(one, step.next, dialogue);
  } catch (error) {
    dialogue.onFailed(toExpected(error));
  }
  return true;
}

/** The doctor's own checks of these say more. */
const checkedElsewhere: readonly PartName[] = ['global', 'capture', 'hooks'];

/** Finds damaged parts for the doctor. A part that the user never set up is no defect. */
export async function examineParts(parts: readonly Part[]) {
  const found = [];
  let isAny = false;
  for (const { name, look } of parts.filter((part) => !checkedElsewhere.includes(part.name))) {
    const { state, why, hint } = await look().then(
      (looked) => ({ ...looked, hint: '' }),
      (error: unknown) => {
        const { message, hint: way } = toExpected(error);
        return { state: 'partly', why: message, hint: way === undefined ? '' : `${way} ` };
      },
    );
    isAny ||= state === 'partly' || (state === 'set-up' && name !== 'model');
    if (state !== 'partly') continue;
    const todo = `${hint}Run \`teddy init --only ${name}\`.`;
    found.push({ kind: 'setup' as const, thing: name, meaning: why ?? 'It is damaged.', todo });
  }
  return { found, seen: isAny ? 'setup' : null };
}

/** The branch that all sessions share. */
export function globalPart(project: Project): Part {
  const { repository, setup } = project;
  const { store } = repository;
  const findTip = () => store.resolve(globalRef);
  /** Its note has no tip until everything is done. */
  const wasInterrupted = async () => (await setup.read('global'))?.['tip'] === null;
  return {
    name: 'global',
    async look() {
      const state = (await findTip()) === null ? 'missing' : (await wasInterrupted()) ? 'partly' : 'set-up';
      return { state, why: state === 'partly' ? '`teddy init` was interrupted there.' : null };
    },
    async planSetUp() {
      if ((await findTip()) !== null && !(await wasInterrupted())) return [];
      const changes = [
        { what: 'creates the branch teddy/global' },
        { what: 'protects session files in .git/info/attributes' },
      ];
      const carryOut = async () => {
        if ((await findTip()) === null) await setup.write('global', { tip: null });
        const isMade = (await initProject(project)) !== null || (await wasInterrupted());
        if (isMade) await setup.write('global', { tip: await findTip() });
      };
      return [{ does: 'Prepare what all sessions share', changes, carryOut }];
    },
    async planRemoval() {
      const tip = await findTip();
      const note = await setup.read('global');
      if (tip === null && note === null) return [];
      const all = await store.listRefs('refs/heads/teddy/', 'refs/teddy/');
      if (all.some(({ ref }) => ref !== globalRef)) return ['teddy/global stays, because there are sessions.'];
      const isOpen = (await repository.workTrees()).some(({ ref }) => ref === globalRef);
      // An interrupted command has noted no tip; content would be a second commit.
      const isOurs = tip === null || note?.['tip'] === tip || (note?.['tip'] === null && (await isFirst(store, tip)));
      if (isOpen || !isOurs) return ['teddy/global stays, because it has content or is checked out.'];
      const changes = [
        { what: 'removes the branch teddy/global' },
        { what: "removes teddy's lines from .git/info/attributes" },
      ];
      const carryOut = async () => {
        const moves = tip === null ? [] : [{ ref: globalRef, old: tip, new: null }];
        if (tip !== null && !(await moveRefs(project, moves, 'init --remove', { drops: true }))) return;
        await repository.removeAttributes();
        await setup.remove('global');
      };
      return [{ does: 'Remove what all sessions share', changes, carryOut }];
    },
  };
}

async function isFirst(store: Store, commit: Oid): Promise<boolean> {
  return (await store.readCommit(commit)).parents.length === 0;
}

/** The provider and the model that teddy asks. */
export function modelPart(project: Project, tools: Pick<SetupTools, 'findModels' | 'listModels'>): Part {
  const { repository, settings, setup } = project;
  const look: Part['look'] = async () => {
    const found = [await settings.find('provider'), await settings.find('model')];
    const bad = found.find(({ problem }) => problem !== null);
    if (bad !== undefined)
      return { state: 'partly', why: `teddy.${bad.name} cannot be used: ${bad.problem} (${bad.origin}).` };
    const set = found.filter(({ value }) => value !== null).map(({ name, value }) => `teddy.${name} is ${value}`);
    // The settings are noted before the first of them is changed.
    const noted = Object.keys((await setup.read('model')) ?? {});
    const unset = found.filter(({ name, value }) => value === null && noted.includes(`teddy.${name}`));
    if (set.length > 0 && unset.length > 0)
      return { state: 'partly', why: `teddy.${unset[0]?.name} is not set, because \`teddy init\` was interrupted.` };
    return set.length > 0 ? { state: 'set-up', why: `${set.join(', ')}.` } : { state: 'missing', why: null };
  };
  const change = async (values: Record<string, string | null>) => {
    for (const [key, value] of Object.entries(values)) await repository.changeSetting('local', key, value);
    repository.reloadSettings();
  };
  return {
    name: 'model',
    isChoice: true,
    look,
    async planSetUp() {
      if ((await look()).state === 'set-up') return [];
      const choices = await tools.findModels();
      if (choices.length === 0)
        return ['There is no key in the environment, and no model server here: docs/models.md names the variables.'];
      return choices.map(({ provider, model, why, url, isUntried }): Step => {
        const values = { 'teddy.provider': provider, ...(model === null ? {} : { 'teddy.model': model }) };
        const tryIt: Step = {
          does: `Try it with one request, which lists the models at ${url}`,
          changes: [],
          isExtra: true,
          async carryOut(tell) {
            const models = await tools.listModels(provider);
            if (model === null) tell(`It answers. Its models: ${models.slice(0, 10).join(', ')}.`);
            else if (models.includes(model)) tell(`It answers, and has ${model}.`);
            else tell(`It answers, but does not list ${model}: \`teddy models\` shows the others.`);
          },
        };
        return {
          does: `Ask ${model ?? 'models'} at ${provider}, because ${why}`,
          changes: Object.entries(values).map(([key, value]) => ({ what: `sets ${key} to ${value}` })),
          async carryOut(tell) {
            await setup.write('model', values);
            await change(values);
            if (model === null) tell('Choose a model: `teddy models`, then `teddy config set model <name>`.');
          },
          ...(isUntried ? { next: tryIt } : {}),
        };
      });
    },
    async planRemoval() {
      const keys: string[] = [];
      for (const [key, value] of Object.entries((await setup.read('model')) ?? {}))
        if ((await repository.store.setting(key)) === value) keys.push(key);
      const carryOut = async () => {
        await change(Object.fromEntries(keys.map((key) => [key, null])));
        await setup.remove('model');
      };
      const changes = keys.map((key) => ({ what: `unsets ${key}` }));
      return keys.length === 0 ? [] : [{ does: 'Forget the model that init has set', changes, carryOut }];
    },
  };
}
