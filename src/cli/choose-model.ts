/** Which model is asked, and who says yes to what it is told. */
import { chooseModel, type ChosenModel, type ModelWish } from '../app.ts';
import type { Project } from '../ports.ts';
import type { ApproveForeign } from '../workflow/foreign-texts.ts';
import type { Terminal } from './terminal.ts';

/** The flags that were given, then the settings. Throws as `chooseModel` does. */
export function chooseFromFlags(
  project: Project,
  flags: Omit<ModelWish, 'cwd' | 'env' | 'readRecordedLine'>,
): Promise<ChosenModel> {
  return chooseModel(project, {
    ...flags,
    cwd: process.cwd(),
    env: process.env,
    readRecordedLine: async (store, revision) => {
      const { readRecordedLine } = await import('../workflow/read-recording.ts');
      return readRecordedLine(store, project.hash, revision);
    },
  });
}

/** Undefined where nobody can be asked. */
export function askingForeign(
  terminal: Terminal,
  signal: AbortSignal,
  { canAsk }: { canAsk: boolean },
): ApproveForeign | undefined {
  if (!canAsk) return undefined;
  return async (texts) => (await import('./approval.ts')).askForeign(terminal, signal, texts);
}
