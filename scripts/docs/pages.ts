/** Lists the pages that `npm run docs` writes, with their paths and texts. */
import { renderCommands } from './commands.ts';
import { renderErrors } from './errors.ts';
import { renderManual } from './manual.ts';
import { renderSettings } from './settings.ts';

export function renderPages(): Map<string, string> {
  return new Map([
    ['docs/commands.md', renderCommands()],
    ['docs/settings.md', renderSettings()],
    ['docs/errors.md', renderErrors()],
    ['docs/man/git-teddy.1', renderManual()],
  ]);
}
