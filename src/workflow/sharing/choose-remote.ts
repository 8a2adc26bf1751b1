/** Chooses the other repository. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { findUsualRemote, noSessionsRemoteError } from '../../session/settings/decide-setting.ts';
import { hideCredentials } from '../../session/masks/urls.ts';
import { shortRef, type RefName } from '../../names.ts';

export interface ChosenRemote {
  /** The name in git's configuration; otherwise a URL or a path. */
  name: string;
  /** The name for display: a URL without its secrets. */
  label: string;
  isConfigured: boolean;
}

/**
 * Without a name, chooses the remote for sessions; otherwise follows git: the remote of HEAD's branch, for a push
 * `remote.pushDefault`, then `origin`, then the only remote. Throws UNKNOWN_REMOTE.
 */
export async function chooseRemote(
  project: Project,
  wanted: string | undefined,
  { isPush, head }: { isPush: boolean; head?: RefName | null },
): Promise<ChosenRemote> {
  const names = await project.repository.remotes.names();
  if (wanted !== undefined) return toChosen(wanted, names);
  const ofSessions = await project.settings.get('sessionsRemote');
  if (ofSessions !== undefined && !names.includes(ofSessions)) throw noSessionsRemoteError(ofSessions, names);
  const configured = ofSessions ?? (await readConfigured(project, isPush, head));
  const name = configured ?? findUsualRemote(names);
  if (name !== undefined) return toChosen(name, names);
  throw names.length === 0 ? toNone() : toSeveral(names);
}

function toChosen(name: string, names: readonly string[]): ChosenRemote {
  return { name, label: hideCredentials(name), isConfigured: names.includes(name) };
}

/** Returns the branch that HEAD is on. */
export async function readHeadRef({ repository: { workspace } }: Project): Promise<RefName | null> {
  return (await workspace?.head())?.ref ?? null;
}

/** Skips the name `.`, which means this repository itself. */
async function readConfigured(
  project: Project,
  isPush: boolean,
  known: RefName | null | undefined,
): Promise<string | undefined> {
  const { store } = project.repository;
  const head = known === undefined ? await readHeadRef(project) : known;
  const ofBranch = head === null ? null : `branch.${shortRef(head)}`;
  const keys = [
    ...(isPush && ofBranch !== null ? [`${ofBranch}.pushremote`] : []),
    ...(isPush ? ['remote.pushdefault'] : []),
    ...(ofBranch === null ? [] : [`${ofBranch}.remote`]),
  ];
  for (const key of keys) {
    const value = await store.setting(key);
    if (value !== undefined && value !== '' && value !== '.') return value;
  }
  return undefined;
}

function toNone(): TeddyError {
  return new TeddyError(
    'UNKNOWN_REMOTE',
    'This repository has no remote.',
    'Name a URL or a path, or add a remote: `git remote add origin <url>`.',
  );
}

function toSeveral(names: readonly string[]): TeddyError {
  return new TeddyError(
    'UNKNOWN_REMOTE',
    `There are ${names.length} remotes, and none of them is the default: ${names.join(', ')}.`,
    `Name one, e.g. \`teddy sync ${names[0] ?? 'origin'}\`.`,
  );
}
