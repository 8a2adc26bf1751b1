/** The commands that the user has allowed, in a file for each session: `.git/teddy/allowed/<session>.json`. */
import { join } from 'node:path';
import type { AllowedCommand } from '../conversation/allowed-commands.ts';
import { makePrivateDirectory } from '../disk/durable-file.ts';
import { readTextOr, replaceFile, toWriteError } from '../disk/replace-file.ts';
import type { AllowedCommands } from '../ports/disk.ts';
import { parseJson } from '../session/parse-object.ts';

export function allowedCommands(dir: string): AllowedCommands {
  const pathOf = (session: string) => join(dir, `${session}.json`);
  return {
    async list(session) {
      return parse(await readTextOr(pathOf(session), '[]'));
    },
    async keep(session, commands) {
      try {
        await makePrivateDirectory(dir);
        await replaceFile(pathOf(session), `${JSON.stringify(commands, null, 2)}\n`);
      } catch (error) {
        throw toWriteError(error, pathOf(session));
      }
    },
  };
}

/** A file that says something else allows nothing. */
function parse(text: string): AllowedCommand[] {
  const value = parseJson(text);
  return Array.isArray(value) ? value.filter(isAllowedCommand) : [];
}

function isAllowedCommand(value: unknown): value is AllowedCommand {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, text, cwd } = value as Record<string, unknown>;
  return (kind === 'line' || kind === 'words') && typeof text === 'string' && (cwd === null || typeof cwd === 'string');
}
