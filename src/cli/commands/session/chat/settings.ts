/** The conversation's commands that show or change its settings. */
import { defaultAgent, findAgent } from '../../../../conversation/prompts/agents.ts';
import { TeddyError } from '../../../../errors.ts';
import { shortRef } from '../../../../names.ts';
import { readGlobal } from '../../../../workflow/line/global-branch.ts';
import { askingForeign } from '../../../ask/choose-model.ts';
import { splitPaths, type ChatCommandName } from './commands.ts';
import type { OpenConversation } from './line.ts';
import { describeAllowed } from './view.ts';
import { toVisible } from '../../../../session/text/visible-text.ts';

const verbs = {
  model: chooseModel,
  agent: chooseAgent,
  add: (talking: OpenConversation, rest: string) => editContext(talking, 'add', rest),
  drop: (talking: OpenConversation, rest: string) => editContext(talking, 'drop', rest),
  context: showContext,
  cost: showCost,
  diff: showDiff,
  allowed: showAllowed,
} satisfies Partial<Record<ChatCommandName, (talking: OpenConversation, rest: string) => Promise<void>>>;

export function runSetting(talking: OpenConversation, name: keyof typeof verbs, rest: string): Promise<void> {
  return verbs[name](talking, rest);
}

async function chooseModel(talking: OpenConversation, name: string): Promise<void> {
  const choice = name === '' ? talking.choice : await talking.choose(name);
  // The conversation cannot continue without a model.
  if (choice.missing !== null) throw choice.missing;
  talking.choice = choice;
  talking.terminal.say(`The model is ${toVisible(choice.model?.label ?? choice.name)}.`);
}

/** Throws UNKNOWN_AGENT when the agent does not exist. */
async function chooseAgent(talking: OpenConversation, name: string): Promise<void> {
  if (name !== '') {
    const own = (await readGlobal(talking.project, { orRemote: true }))?.agents ?? new Map<string, string>();
    talking.agent = findAgent(name, own).name;
  }
  talking.terminal.say(`The agent is ${talking.agent ?? `the last turn's agent, or else ${defaultAgent}`}.`);
}

async function editContext(
  { terminal, project, line, canAsk }: OpenConversation,
  kind: 'add' | 'drop',
  rest: string,
): Promise<void> {
  const [{ editContextList }, { showEdited, toProjectPath }] = await Promise.all([
    import('../../../../workflow/context/edit-list.ts'),
    import('../context/edit.ts'),
  ]);
  const root = project.repository.workspace?.root;
  const paths = splitPaths(rest).map((path) => toProjectPath(terminal.context.cwd(), path.replace(/^@/, ''), root));
  const approveForeign = askingForeign(terminal, new AbortController().signal, { canAsk });
  const edit = { selector: await line.selector(), kind, paths, isGlobal: false, approveForeign };
  showEdited(terminal, await editContextList(project, edit));
}

async function showContext({ terminal, project, line, page, choice }: OpenConversation): Promise<void> {
  const [{ showContext: read }, { renderContext }] = await Promise.all([
    import('../../../../workflow/context/show.ts'),
    import('../context.ts'),
  ]);
  const model = { provider: choice.provider, model: choice.model?.model ?? choice.name };
  await page(renderContext(terminal, await read(project, { selector: shortRef(line.ref), model })));
}

async function showCost({ terminal, project, line, page }: OpenConversation): Promise<void> {
  const [{ countCost }, { renderCost }] = await Promise.all([
    import('../../../../workflow/review/count-cost.ts'),
    import('../../../render/cost.ts'),
  ]);
  await page(renderCost(terminal, await countCost(project, shortRef(line.ref))));
}

/** Shows a turn's diff (by default the last turn's), or compares two turns. */
async function showDiff({ terminal, project, line, page }: OpenConversation, rest: string): Promise<void> {
  const [{ diffTurns }, { renderComparison }] = await Promise.all([
    import('../../../../workflow/review/diff-turns.ts'),
    import('../../../render/comparison.ts'),
  ]);
  const [a, b, ...more] = splitPaths(rest);
  if (more.length > 0) throw new TeddyError('USAGE', '/diff takes at most two turns.', 'Name them: `/diff 02 03`.');
  const name = shortRef(line.ref);
  const wanted = a === undefined ? { a: name } : { a, b, selector: name };
  await page(renderComparison(terminal, await diffTurns(project, { ...wanted, only: 'code' }), { isShort: false }));
}

/** Lists the commands that the user allowed in this session with `a` and `p`, or revokes one. */
async function showAllowed({ terminal, project, line: { session } }: OpenConversation, rest: string): Promise<void> {
  const allowed = await project.allowed.list(session);
  const [, number] = /^drop\s+(\d+)$/.exec(rest) ?? [];
  const dropped = allowed[Number(number) - 1];
  if (rest !== '' && dropped === undefined)
    throw new TeddyError(
      'USAGE',
      number === undefined ? `/allowed does not take ${rest}.` : `No allowed command has the number ${number}.`,
      '/allowed lists them, and /allowed drop 1 revokes the first one.',
    );
  if (dropped !== undefined) {
    await project.allowed.keep(
      session,
      allowed.filter((one) => one !== dropped),
    );
    return terminal.say(`teddy will ask about it again: ${toVisible(describeAllowed(dropped))}`);
  }
  const rows = allowed.map((one, at) => `${at + 1}  ${toVisible(describeAllowed(one))}`);
  terminal.say(
    rows.length === 0
      ? 'No commands are allowed, so teddy asks about each. Answer a or p to allow one.'
      : rows.join('\n'),
  );
}
