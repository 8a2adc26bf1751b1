/** `teddy init --yes`, and `teddy init --remove --yes`. The process's name is the executable of the package. */
import { listParts } from '../../src/cli/commands/init.ts';
import type { TeddyError } from '../../src/errors.ts';
import { carryOutParts, planParts } from '../../src/workflow/setup/set-up.ts';
import type { ChildOperation } from './child-task.ts';
import { print } from './fault-points.ts';
import { environmentIn } from './setup-environment.ts';

const operation =
  (isRemoval: boolean): ChildOperation =>
  async (project, { root, name }) => {
    const parts = await listParts(project, { main: name, env: { ...process.env, ...environmentIn(root) } });
    const failures: TeddyError[] = [];
    await carryOutParts(await planParts(parts, isRemoval), {
      decide: async (_, step) => step.isExtra !== true,
      tell: () => undefined,
      onDone: () => undefined,
      onFailed: (error) => failures.push(error),
    });
    const [failure] = failures;
    if (failure !== undefined) throw failure;
    print({ line: 'acknowledged', commit: '' });
  };

export const setupOperations = { init: operation(false), 'init-remove': operation(true) };
