/** A teddy command in this process, from the built code: starting the executable takes longer than most commands. */
import { createRequire } from 'node:module';
import { memoryContext, type ContextOptions } from './cli-context.ts';

const requireBuilt = createRequire(import.meta.url);

export interface RanHere {
  exitCode: number;
  stdout: string;
  stderr: string;
  /** Both, in the order in which they were printed. */
  printed: string;
}

export async function runHere(options: ContextOptions): Promise<RanHere> {
  const { runCommand } = requireBuilt('../../dist/cli.cjs') as typeof import('../../src/cli/run-cli.ts');
  const context = memoryContext(options);
  const exitCode = await runCommand(context);
  return { exitCode, ...context.read() };
}
