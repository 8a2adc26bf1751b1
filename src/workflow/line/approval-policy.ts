/**
 * A line's effective `teddy.approvals`: the stricter of the settings on the base branch, as last fetched, and in git's
 * configuration. The file in the work tree does not count, because whoever plans can edit it.
 */
import type { RefTip } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { globalRef, isRefName, parseLineRef, shortRef, type RefName, type RepoPath } from '../../names.ts';
import { chooseStrictest, type FoundSetting } from '../../session/settings/decide-setting.ts';
import { readBaseBranch, readDefaultBranches } from '../../session/lines/lines.ts';
import {
  ignoredConfig,
  maxTrackedConfigBytes,
  parseTrackedConfig,
  trackedConfigPath,
  type TrackedConfig,
} from '../../session/settings/tracked-config.ts';

export interface ApprovalPolicy extends FoundSetting {
  /** Sentences, each of which describes an ignored setting. */
  notes: string[];
}

/** Reads the policy. `base` is the session's base branch; null when unknown. */
export async function readApprovalPolicy(project: Project, base: string | null): Promise<ApprovalPolicy> {
  const sources = await project.settings.findAll('approvals');
  const own = sources.filter(({ origin }) => origin !== trackedConfigPath);
  const here = sources.find(({ origin }) => origin === trackedConfigPath)?.value ?? null;
  const asked = await Promise.all((await listBaseRefs(project, base)).map((tip) => readAsked(project, tip)));
  const found = asked.map(({ setting }) => setting);
  const policy = chooseStrictest([...found, ...own]) ?? {
    name: 'approvals',
    value: null,
    origin: 'default',
    problem: null,
  };
  const ofBase = chooseStrictest(found);
  const notes = asked.flatMap(({ warnings }) => warnings);
  for (const lower of own)
    if (lower.problem === null && chooseStrictest([policy, lower])?.value !== lower.value)
      notes.push(
        `teddy.approvals is ${lower.value} in ${lower.origin}, which is ignored: ${policy.origin} asks for ${policy.value}.`,
      );
  if (here !== (ofBase?.value ?? null)) {
    const names = asked.map(({ name }) => name).join(' and ') || 'the base branch';
    const raise = here === null ? '' : ` To ask for more here: \`git config teddy.approvals ${here}\`.`;
    notes.push(
      `${trackedConfigPath} in the work tree ${describe(here)}, which is ignored: in ${names} it ${describe(ofBase?.value ?? null)}.${ofBase === null ? raise : ''}`,
    );
  }
  return { ...policy, notes };
}

/**
 * Returns a function that accepts the files which `promise.allow` names on the session's base branch, as last fetched. A
 * file must be allowed on each branch that may be meant.
 */
export async function readAllowedPaths(project: Project, base: string | null): Promise<(path: RepoPath) => boolean> {
  const asked = await Promise.all((await listBaseRefs(project, base)).map((tip) => readAsked(project, tip)));
  return (path) => asked.length > 0 && asked.every(({ allowed }) => allowed.some((matches) => matches(path)));
}

/** Reads the policy for a session that teddy would continue or start here. */
export async function readPolicyHere(project: Project): Promise<FoundSetting> {
  const ref = (await project.repository.workspace?.head())?.ref ?? null;
  const isLine = ref !== null && parseLineRef(ref) !== null;
  const base = isLine ? await readBaseBranch(project, ref) : ref === null ? null : shortRef(ref);
  const { notes: _notes, ...found } = await readApprovalPolicy(project, base);
  return found;
}

function describe(value: string | null): string {
  return value === null ? 'asks for no approval' : `has approvals: ${value}`;
}

/**
 * Returns the base branch as last fetched, from each remote that has it. When no remote has it, returns the local
 * branch, which anybody here can change or create, along with the default branches.
 */
async function listBaseRefs(project: Project, base: string | null): Promise<RefTip[]> {
  const { store, remotes } = project.repository;
  const names = await remotes.names();
  // Never parses a name from a commit as a revision.
  const find = async (refs: string[]) => {
    const tips = refs.filter(isRefName).map(async (ref) => ({ ref, oid: await store.resolve(ref) }));
    return (await Promise.all(tips)).flatMap(({ ref, oid }) => (oid === null ? [] : [{ ref, oid }]));
  };
  const fetched = (branches: string[]) =>
    find(names.flatMap((remote) => branches.map((branch) => `refs/remotes/${remote}/${branch}`)));
  const known = base === null ? [] : await fetched([base]);
  if (known.length > 0) return known;
  const defaults = (await readDefaultBranches(project)).filter(({ ref }) => ref !== globalRef);
  const local = base === null ? [] : await find([`refs/heads/${base}`]);
  const branches = defaults.filter(({ ref }) => ref.startsWith('refs/heads/')).map(({ ref }) => shortRef(ref));
  const all = [...local, ...defaults, ...(await fetched(branches))];
  return [...new Map(all.map((tip) => [tip.ref, tip])).values()];
}

async function readAsked({ repository: { store } }: Project, { ref, oid }: RefTip) {
  const name = toName(ref);
  const { values, allowed, warnings } = await parse((await store.readFile(oid, trackedConfigPath as RepoPath))?.bytes);
  const value = values.get('approvals') ?? null;
  const setting: FoundSetting = { name: 'approvals', value, origin: `${trackedConfigPath} of ${name}`, problem: null };
  // Another warning covers the file in the work tree, so its other faults are not reported twice.
  const about = warnings.filter((warning) => /^\S+(?:: approvals | is ignored)/.test(warning));
  return { name, setting, allowed, warnings: about.map((warning) => `In ${name}, ${warning}`) };
}

async function parse(bytes: Uint8Array = new Uint8Array()): Promise<TrackedConfig> {
  if (bytes.length > maxTrackedConfigBytes) return ignoredConfig(`it is over ${maxTrackedConfigBytes / 1024} KiB`);
  return parseTrackedConfig(new TextDecoder().decode(bytes));
}

function toName(ref: RefName): string {
  return ref.startsWith('refs/remotes/') ? `${shortRef(ref)} as last fetched` : shortRef(ref);
}
