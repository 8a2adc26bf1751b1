/** Chooses which lines to share: one session's, or all. */
import { TeddyError } from '../../errors.ts';
import type { RefTip } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { archivePrefix, parseLineRef, shortRef, type Oid, type RefName, type SessionId } from '../../names.ts';
import { ambiguousError, findHeadLine, findLine, findNamedTip } from '../line/find.ts';
import { chooseMain, type KnownLine } from '../../session/lines/lines.ts';
import { parseShared, type Scope, type TransferSides } from './shared-refs.ts';
import { groupBy } from '../../session/text/group-by.ts';

interface ScopeRequest {
  selector?: string | undefined;
  all?: boolean | undefined;
  months?: readonly string[] | undefined;
  /** The sessions to share when HEAD is not on a line: the user's one open session (by the usual rule), or all of them. */
  offLine: 'open' | 'all';
}

/**
 * Shares the named line or HEAD's line under its own name, and also a renamed main line, but not the user's other
 * branches. The user may also name a session that exists only on the remote. Throws UNKNOWN_SESSION, AMBIGUOUS_SESSION,
 * NO_OPEN_SESSION or NOT_APPROVED.
 */
export async function chooseScope(
  project: Project,
  request: ScopeRequest,
  { listed, lines: live, stale }: Pick<TransferSides, 'listed' | 'lines' | 'stale'>,
): Promise<Scope> {
  const { session, line } = await chooseLine(project, request, listed, live);
  const lines = [...live, ...stale];
  const local = lines.filter(({ remote }) => remote === null);
  const isWanted = (one: KnownLine) => session === null || one.session === session;
  const bySession = groupBy(local.filter(isWanted), (one) => one.session);
  const mains = new Set([...bySession.values()].map((lines) => chooseMain(lines)));
  const isNamedLikeIts = ({ ref, session: owner }: KnownLine) => parseLineRef(ref)?.session === owner;
  const goes = (one: KnownLine) => isWanted(one) && (isNamedLikeIts(one) || mains.has(one) || one.ref === line);
  const theirs = new Map(listed.map(({ ref, oid }) => [ref, oid]));
  return {
    session,
    months: new Set(request.months),
    named: new Map([
      ...local.filter((one) => goes(one) && !isNamedLikeIts(one)).map((one) => [one.ref, one.session] as const),
      // The main line of a session that exists only on a remote, whatever the line is called on the remote.
      ...listRemoteMains(lines.filter(isWanted)).map((one) => [one.branchRef, one.session] as const),
      // A line that exists only on a remote and that the user requested by name.
      ...(line !== null && session !== null && parseLineRef(line)?.session !== session
        ? [[line, session] as const]
        : []),
    ]),
    leftOut: local.filter((one) => !goes(one) && theirs.get(one.ref) !== one.oid).map(({ ref }) => ref),
    ownNamed: new Map(
      [...bySession].map(([owner, lines]): [SessionId, Oid[]] => [
        owner,
        lines.filter((one) => !isNamedLikeIts(one)).map(({ oid }) => oid),
      ]),
    ),
  };
}

/** Lists the last fetch's custom-named lines of sessions that have no local line. */
function listRemoteMains(lines: readonly KnownLine[]): KnownLine[] {
  const sessions = new Set(lines.map(({ session }) => session));
  for (const { session, remote } of lines) if (remote === null) sessions.delete(session);
  return [...sessions].flatMap((session) => {
    const main = chooseMain(lines.filter((line) => line.session === session));
    return main !== undefined && !main.isMain && main.branch === null ? [main] : [];
  });
}

/** Chooses the line by its branch; null when the user means the whole session. */
async function chooseLine(
  project: Project,
  { selector, all = false, offLine }: ScopeRequest,
  listed: readonly RefTip[],
  lines: readonly KnownLine[],
): Promise<{ session: SessionId | null; line: RefName | null }> {
  if (all) return { session: null, line: null };
  if (selector !== undefined) return findNamed(project, selector, listed, lines);
  try {
    const options = { appends: true, forks: true, lines };
    const found = await (offLine === 'all' ? findHeadLine(project) : findLine(project, undefined, options));
    return { session: found?.session ?? null, line: found?.ref ?? null };
  } catch (error) {
    // No session exists at all, so only the refs that all sessions share remain.
    if (isUnknown(error)) return { session: null, line: null };
    if (!(error instanceof TeddyError) || error.code !== 'NO_OPEN_SESSION') throw error;
    throw new TeddyError(error.code, error.message, 'Name one with `-s`, or share all of them with `--all`.');
  }
}

async function findNamed(
  project: Project,
  selector: string,
  listed: readonly RefTip[],
  lines: readonly KnownLine[],
): Promise<{ session: SessionId; line: RefName | null }> {
  try {
    const { session, branchRef } = await findNamedTip(project, selector, lines);
    const isByName = [branchRef, shortRef(branchRef)].includes(selector as RefName);
    return { session, line: isByName ? branchRef : null };
  } catch (error) {
    if (!isUnknown(error)) throw error;
    const others = [...listed, ...(await project.repository.store.listRefs(archivePrefix))];
    const sessions = new Set(others.flatMap(({ ref }) => parseShared(ref)?.session ?? []));
    const wanted = selector.replace(/^(?:refs\/heads\/)?teddy\//, '').replace(/--.*$/, '');
    const exact = [...sessions].find((session) => session === wanted);
    const similar = [...sessions].filter((session) => wanted !== '' && session.includes(wanted));
    const found = exact ?? (similar.length === 1 ? similar[0] : undefined);
    if (found !== undefined) return { session: found, line: null };
    if (similar.length === 0) throw error;
    const matching = similar.toSorted().map((one) => ({ session: one }));
    throw ambiguousError(selector, matching, { areNamesakes: false });
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof TeddyError && error.code === 'UNKNOWN_SESSION';
}
