/** git as a test's child process, with exact bytes in and out. */
import { execFileSync } from 'node:child_process';
import { environmentOf } from './run-teddy.ts';

/** stdout; throws with stderr when git fails. */
export function gitBytes(
  cwd: string,
  args: string[],
  options: { input?: string | Uint8Array; env?: Record<string, string | undefined> } = {},
): Buffer {
  return execFileSync('git', args, {
    cwd,
    input: options.input ?? '',
    env: environmentOf(options.env),
    maxBuffer: 256 * 1024 * 1024,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** stdout as text, without its last newline. */
export function gitText(...parameters: Parameters<typeof gitBytes>): string {
  return gitBytes(...parameters)
    .toString('utf8')
    .replace(/\n$/, '');
}
