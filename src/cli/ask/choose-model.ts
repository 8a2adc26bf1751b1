/** Chooses the model, and asks the user to accept texts from elsewhere before the model receives them. */
import { chooseModel, type ChosenModel, type ModelOptions } from '../../app.ts';
import { findPreset } from '../../session/settings/presets.ts';
import type { Project } from '../../ports/project.ts';
import type { ApproveForeign } from '../../workflow/line/foreign-texts.ts';
import { toSurroundings, type CliContext } from '../context.ts';
import type { Terminal } from '../terminal.ts';

/** Chooses from flags, which take precedence over settings. Throws as `chooseModel` does. */
export function chooseFromFlags(
  project: Project,
  context: CliContext,
  flags: Omit<ModelOptions, 'cwd' | 'env' | 'stdin' | 'readRecordedLine'>,
): Promise<ChosenModel> {
  return chooseModel(project, {
    ...flags,
    ...toSurroundings(context),
    readRecordedLine: async (store, revision) => {
      const { readRecordedLine } = await import('../../workflow/turn/read-recording.ts');
      return readRecordedLine(store, project.hash, revision);
    },
  });
}

/** Returns true if a server runs the model. The time that any other answer takes means nothing. */
export function isServer({ provider }: Pick<ChosenModel, 'provider'>): boolean {
  return findPreset(provider) !== undefined;
}

/** Returns undefined when teddy cannot ask anybody. */
export function askingForeign(
  terminal: Terminal,
  signal: AbortSignal,
  { canAsk }: { canAsk: boolean },
): ApproveForeign | undefined {
  if (!canAsk) return undefined;
  return async (texts) => (await import('./approval.ts')).askForeign(terminal, signal, texts);
}
