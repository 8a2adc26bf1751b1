/** Finds a program on PATH. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Returns the program's path from the user's `PATH`; null when `PATH` does not contain it. */
export function findProgram(name: string, env: Record<string, string | undefined>): string | null {
  const candidates = (env['PATH'] ?? '').split(delimiter).map((directory) => join(directory || '.', name));
  return candidates.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
