/** Agents and context lists from elsewhere: teddy shows each one once, and uses it only after the user accepts it. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { globalContextPath, isUsualContext } from '../../session/global/global-files.ts';
import { fetchedRef, joinPath, sessionDir, type Oid } from '../../names.ts';
import type { GlobalBranch } from './global-branch.ts';
import { toText, type LineState } from '../../view/view.ts';

/** A text that steers a model or its context. `name` is the text's location: `agents/dev.md on teddy/global`. */
export interface SteeringText {
  kind: 'agent' | 'context';
  name: string;
  text: string;
}

/** Shows the texts that nobody here has seen yet. Returns true when teddy may use them. */
export type ApproveForeign = (texts: SteeringText[]) => Promise<boolean>;

/** Asks about any of `texts` that came from elsewhere, and remembers a yes. Throws NOT_APPROVED without one. */
export async function requireTrust(
  project: Project,
  line: string,
  texts: SteeringText[],
  approve: ApproveForeign | undefined,
): Promise<void> {
  const foreign = await findForeign(project, texts);
  if (foreign.length === 0) return;
  if ((await approve?.(foreign)) === true) return trustTexts(project, foreign);
  throw new TeddyError(
    'NOT_APPROVED',
    `Some texts came from elsewhere and have not been accepted here yet: ${foreign.map(({ name }) => name).join(', ')}.`,
    `Read and accept them: \`teddy global trust -s ${line}\`, or answer yes in a terminal.`,
  );
}

/** Returns the texts that this user has neither written nor accepted, and that teddy itself does not generate. */
export async function findForeign(project: Project, texts: SteeringText[]): Promise<SteeringText[]> {
  const unknown: SteeringText[] = [];
  for (const one of texts) if (!(await isTrusted(project, one))) unknown.push(one);
  return unknown.length > 0 && (await hasRemote(project)) ? unknown : [];
}

export async function isTrusted(project: Project, { kind, text }: Omit<SteeringText, 'name'>): Promise<boolean> {
  if (text.trim() === '' || (kind === 'context' && isUsualContext(text))) return true;
  return project.trust.has(await toOid(project, text));
}

/** Marks texts as trusted, because the user wrote or accepted them. */
export async function trustTexts(project: Project, texts: Pick<SteeringText, 'text'>[]): Promise<void> {
  await project.trust.add(await Promise.all(texts.map(({ text }) => toOid(project, text))));
}

/** Returns the text's object ID and writes nothing. */
function toOid(project: Project, text: string): Promise<Oid> {
  return project.repository.store.batch().blob(text);
}

/**
 * Returns true if the repository may contain anything from elsewhere. If it was not cloned and has never fetched, it
 * contains only what its user put there.
 */
export async function hasRemote(project: Project): Promise<boolean> {
  const { store } = project.repository;
  // A bare or mirrored clone has the setting but no remote-tracking branch.
  if ((await store.setting('remote.origin.url')) !== undefined) return true;
  // A fetch from an address or a bundle leaves only FETCH_HEAD; teddy's own pull leaves a ref.
  return (await store.listRefs('refs/remotes/', fetchedRef)).length > 0 || (await store.resolve('FETCH_HEAD')) !== null;
}

/**
 * Reads the texts that will steer the line's next request. With `keepsContext`, the context files are already chosen
 * and stored.
 */
export async function readSteering(
  project: Project,
  state: Pick<LineState, 'tip' | 'session'>,
  global: GlobalBranch | null,
  { agent, keepsContext }: { agent: string; keepsContext: boolean },
): Promise<SteeringText[]> {
  const lists = keepsContext ? [] : await readContextLists(project, state, global);
  const own = global?.agents.get(agent);
  return own === undefined ? lists : [...lists, toAgentText(agent, own)];
}

/** Returns the line's context lists that its next request will follow. */
export async function readContextLists(
  project: Project,
  { tip, session }: Pick<LineState, 'tip' | 'session'>,
  global: GlobalBranch | null,
): Promise<SteeringText[]> {
  const { store } = project.repository;
  const sessionPath = joinPath(sessionDir(session), 'session.context');
  const [ofSession, copy] = await Promise.all([
    store.readFile(tip, sessionPath),
    global === null ? store.readFile(tip, globalContextPath) : null,
  ]);
  return [
    toGlobalList(global?.globalContext ?? toText(copy?.bytes ?? null)),
    { kind: 'context', name: `session.context of ${session}`, text: toText(ofSession?.bytes ?? null) },
  ];
}

export function toGlobalList(text: string): SteeringText {
  return { kind: 'context', name: 'global.context on teddy/global', text };
}

export function toAgentText(name: string, text: string): SteeringText {
  return { kind: 'agent', name: `agents/${name}.md on teddy/global`, text };
}
