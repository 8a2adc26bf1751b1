/** Chooses the program that runs a script: bash, or sh where there is none. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { renderBashCommand, renderShCommand, type Environment, type ScriptFiles } from './shell-command.ts';

/** It is looked for where the user has it, not where the script's own PATH leads. */
export function findInterpreter(files: ScriptFiles, user: Environment): { program: string; args: string[] } {
  const bash = findProgram('bash', user);
  return bash === null
    ? { program: findProgram('sh', user) ?? '/bin/sh', args: ['-c', renderShCommand(files), 'sh'] }
    : { program: bash, args: ['-c', renderBashCommand(files), 'bash'] };
}

function findProgram(name: string, user: Environment): string | null {
  const candidates = (user['PATH'] ?? '').split(delimiter).map((directory) => join(directory || '.', name));
  return candidates.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
