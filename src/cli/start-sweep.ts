/** Commands that list sessions have logs looked for that no hook told of: beside them, once a minute at most. */
import { openCapture } from '../app.ts';
import type { Project } from '../ports/project.ts';
import { startDetached } from '../system/start-detached.ts';
import type { CliContext } from './context.ts';

/** What the sweep finds is there for the next command: this one does not wait. */
export async function startSweep(project: Project, { env, main }: Pick<CliContext, 'env' | 'main'>): Promise<void> {
  const { exists } = await project.spool.look();
  if (!exists || env['TEDDY_CAPTURE'] === '0') return;
  const { isSweepDue } = await import('../workflow/capture/sweep.ts');
  const isDue = await isSweepDue(project, openCapture(project, env));
  const root = project.repository.workspace?.root;
  if (isDue && root !== undefined) await startDetached([main, 'capture', 'sweep', '--json'], root);
}
