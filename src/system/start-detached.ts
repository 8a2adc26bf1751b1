/** Starts this program once more, for work that nobody waits for. */
import { spawn } from 'node:child_process';

/** Resolves when it runs, or could not be started: it is for work that another call does as well. */
export function startDetached(words: readonly string[], cwd: string): Promise<void> {
  const child = spawn(process.execPath, words, { cwd, stdio: 'ignore', detached: true });
  return new Promise((resolve) => {
    child.on('error', () => resolve());
    child.on('spawn', () => {
      child.unref();
      resolve();
    });
  });
}
