/** Checks the sessions that a push would publish: that they are consistent, and that the push would not leak a secret. */
import type { Project } from '../../ports/project.ts';
import {
  globalRef,
  parseArchiveRef,
  parseLineRef,
  parseOid,
  shortRef,
  zeroOid,
  type Oid,
  type RefName,
  type SessionId,
} from '../../names.ts';
import { findHeadLine, readSession } from '../line/find.ts';
import type { OutgoingSecret } from '../sharing/check-outgoing.ts';
import type { VerifiedLine } from '../../session/entries/violation.ts';

/**
 * A row that git passes to its hook. `tip` is null when the push deletes the ref; `remote` is null when the remote does
 * not have the ref yet.
 */
interface PushedRef {
  from: string;
  tip: Oid | null;
  to: RefName;
  remote: Oid | null;
}

export interface CheckedPush {
  lines: VerifiedLine[];
  secrets: OutgoingSecret[];
}

/** Parses rows of `<local ref> <oid> <remote ref> <oid>`; skips anything else. */
export function parsePushedRefs(text: string): PushedRef[] {
  return text.split('\n').flatMap((line) => {
    const [, from = '', tip = '', to = '', remote = ''] = /^(\S+) ([0-9a-f]+) (\S+) ([0-9a-f]+)$/.exec(line) ?? [];
    return to === '' ? [] : [{ from, tip: toOid(tip), to: to as RefName, remote: toOid(remote) }];
  });
}

function toOid(text: string): Oid | null {
  const oid = parseOid(text);
  return oid === zeroOid(oid) ? null : oid;
}

/** Checks the push. `remote` is its name, or the URL given in place of a name. Skips refs that do not belong to sessions. */
export async function checkPush(
  project: Project,
  remote: string,
  refs: readonly PushedRef[],
  signal: AbortSignal,
): Promise<CheckedPush> {
  const named = await Promise.all(refs.map((ref) => toNamed(project, ref)));
  const pushed = (await Promise.all(named.map((ref) => toPushedLine(project, ref)))).flat();
  if (pushed.length === 0) return { lines: [], secrets: [] };
  const known = await findKnown(project, remote, refs);
  const [{ verifyLine }, { checkOutgoing }] = await Promise.all([
    import('../verify/line.ts'),
    import('../sharing/check-outgoing.ts'),
  ]);
  const lines: VerifiedLine[] = [];
  for (const { tip, line, session } of pushed) {
    // For memos on `teddy/global`, teddy searches only for secrets.
    if (session === null) continue;
    const recorded = { session, name: shortRef(line), ref: line, tip, after: null };
    lines.push(await verifyLine(project, recorded, { known, signal }));
  }
  const tips = pushed.map(({ tip }) => tip);
  return { lines, secrets: await checkOutgoing(project, tips, known, { signal }) };
}

/** Treats `git push <remote> HEAD:<branch>` like a push of HEAD's branch. */
async function toNamed(project: Project, ref: PushedRef): Promise<PushedRef> {
  if (ref.from !== 'HEAD') return ref;
  return { ...ref, from: (await findHeadLine(project))?.ref ?? ref.from };
}

interface PushedLine {
  tip: Oid;
  /** A branch under any name; for an archive, its former branch. */
  line: RefName;
  /** Null for `teddy/global`. */
  session: SessionId | null;
}

/** Returns nothing when the push deletes the ref, or the ref is not a session's. */
async function toPushedLine(project: Project, { from, tip, to }: PushedRef): Promise<PushedLine[]> {
  if (tip === null) return [];
  if (to === globalRef) return [{ tip, line: to, session: null }];
  // Uses its name on the remote, otherwise its name here; of two branches, the one named like a line.
  const names = [to, from as RefName].map((ref) => parseArchiveRef(ref)?.line ?? ref);
  const line = names.find((ref) => parseLineRef(ref) !== null) ?? names.find((ref) => ref.startsWith('refs/heads/'));
  const session = line === undefined ? null : await readSession(project, line, tip);
  return line === undefined || session === null ? [] : [{ tip, line, session }];
}

/** Finds the commits that the remote already has: now, according to git, and as of the last fetch. */
async function findKnown(
  { repository: { store } }: Project,
  remote: string,
  refs: readonly PushedRef[],
): Promise<Oid[]> {
  const told = refs.flatMap((ref) => (ref.remote === null ? [] : [ref.remote]));
  const here = await Promise.all(told.map(async (oid) => ((await store.readSize(oid)) === null ? [] : [oid])));
  const isName = /^[A-Za-z0-9][\w./-]*$/.test(remote) && !remote.includes('..');
  const fetched = isName ? await store.listRefs(`refs/remotes/${remote}/`) : [];
  return [...new Set([...here.flat(), ...fetched.map(({ oid }) => oid)])];
}
