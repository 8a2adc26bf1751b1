/** The user's own files are in the repository, so that they are copied with it. */
import { join } from 'node:path';

export function environmentIn(root: string): Record<string, string | undefined> {
  const HOME = join(root, '.git/home');
  return { HOME, XDG_DATA_HOME: undefined, XDG_CONFIG_HOME: undefined, OPENAI_API_KEY: 'none' };
}
