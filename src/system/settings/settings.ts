/** The sources of settings: the environment, then git's configuration, and finally the project's tracked file. */
import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from '../../ports/git.ts';
import type { Notices, Settings } from '../../ports/project.ts';
import {
  chooseStrictest,
  decideSetting,
  requireUsable,
  type FoundSetting,
  type SettingSource,
} from '../../session/settings/decide-setting.ts';
import { settingOf, type SettingName } from '../../session/settings/settings.ts';
import {
  ignoredConfig,
  maxTrackedConfigBytes,
  parseTrackedConfig,
  trackedConfigPath,
  type TrackedConfig,
} from '../../session/settings/tracked-config.ts';
import { errorReason } from '../../disk/system-error.ts';
import type { AllowedCommand } from '../../conversation/prompts/allowed-commands.ts';
import { makePrivateDirectory } from '../../disk/durable-file.ts';
import { readTextOr, replaceFile, toWriteError } from '../../disk/replace-file.ts';
import type { AllowedCommands } from '../../ports/disk.ts';
import { parseJson } from '../../session/text/parse-object.ts';

interface SettingsOptions {
  env: Record<string, string | undefined>;
  store: Pick<Store, 'settingValues'>;
  /** The work tree's root; null in a bare repository, where the project's settings are not checked out. */
  root: string | null;
  notices: Notices;
}

/** Reads the project's file once, on the first request for a setting that it may contain; warns about its faults then. */
export function readSettings({ env, store, root, notices }: SettingsOptions): Settings {
  let loading: Promise<TrackedConfig> | undefined;
  const load = () => (loading ??= loadTracked(root, notices));
  async function listSources(name: SettingName): Promise<SettingSource[]> {
    const { variable, tracked, strictest, globalOnly } = settingOf(name);
    const all = (await store.settingValues(`teddy.${name}`)).toReversed();
    const own = all.filter(({ origin }) => !globalOnly || origin.startsWith('global '));
    return [
      ...(variable === undefined ? [] : [{ origin: `environment ${variable}`, text: env[variable] }]),
      ...(strictest ? own : own.slice(0, 1)).map(({ origin, value }) => ({
        origin: `git config (${origin})`,
        text: value,
      })),
      ...(tracked ? [{ origin: trackedConfigPath, text: (await load()).values.get(name) }] : []),
    ];
  }
  async function findAll(name: SettingName): Promise<FoundSetting[]> {
    const found = (await listSources(name)).map((source) => decideSetting(name, [source]));
    return found.filter(({ origin }) => origin !== 'default');
  }
  async function find(name: SettingName): Promise<FoundSetting> {
    if (!settingOf(name).strictest) return decideSetting(name, await listSources(name));
    const own = (await findAll(name)).filter(({ origin }) => origin !== trackedConfigPath);
    return chooseStrictest(own) ?? decideSetting(name, []);
  }
  return { find, findAll, get: async (name) => requireUsable(await find(name)) };
}

async function loadTracked(root: string | null, notices: Notices): Promise<TrackedConfig> {
  const config = root === null ? null : await readTracked(root);
  for (const warning of config?.warnings ?? []) notices.warn(warning);
  return config ?? { values: new Map(), allowed: [], warnings: [] };
}

/** Returns null when the file does not exist. */
async function readTracked(root: string): Promise<TrackedConfig | null> {
  const found = await readTrackedText(root).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    return { refused: `it cannot be read: ${errorReason(error)}` };
  });
  if (found === null) return null;
  return 'refused' in found ? ignoredConfig(found.refused) : parseTrackedConfig(found.text);
}

async function readTrackedText(root: string): Promise<{ text: string } | { refused: string }> {
  const directory = join(root, '.teddy');
  const path = join(directory, 'config.yaml');
  const [parent, found] = [await lstat(directory), await lstat(path)];
  if (!parent.isDirectory() || !found.isFile())
    return { refused: 'it is a link, or something else that is not a file' };
  if (found.size > maxTrackedConfigBytes) return { refused: `it is over ${maxTrackedConfigBytes / 1024} KiB` };
  return { text: await readPlainFile(path) };
}

/** Throws when a link has replaced the file in the meantime, or the file is not UTF-8. */
async function readPlainFile(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const bytes = Buffer.alloc(maxTrackedConfigBytes);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

/** The commands that the user has allowed, in one file per session: `.git/teddy/allowed/<session>.json`. */
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

/** An invalid file allows nothing. */
function parse(text: string): AllowedCommand[] {
  const value = parseJson(text);
  return Array.isArray(value) ? value.filter(isAllowedCommand) : [];
}

function isAllowedCommand(value: unknown): value is AllowedCommand {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, text, cwd } = value as Record<string, unknown>;
  return (kind === 'line' || kind === 'words') && typeof text === 'string' && (cwd === null || typeof cwd === 'string');
}
