/**
 * Checks the sessions that a push would publish: whether they are what they say, and whether a secret would leave with them.
 */
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

/** A line of what git tells its hook. `tip` null: the ref is deleted there. `remote` null: it is not there yet. */
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

/** `<local ref> <oid> <remote ref> <oid>` a line; anything else is passed over. */
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

/** `remote`: its name, or the URL that was given in place of one. Other refs than those of sessions are not looked at. */
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
    // Memos of `teddy/global` are looked through for secrets alone.
    if (session === null) continue;
    const recorded = { session, name: shortRef(line), ref: line, tip, after: null };
    lines.push(await verifyLine(project, recorded, { known, signal }));
  }
  const tips = pushed.map(({ tip }) => tip);
  return { lines, secrets: await checkOutgoing(project, tips, known, { signal }) };
}

/** `git push <remote> HEAD:<branch>` is the same as with the branch that HEAD is on. */
async function toNamed(project: Project, ref: PushedRef): Promise<PushedRef> {
  if (ref.from !== 'HEAD') return ref;
  return { ...ref, from: (await findHeadLine(project))?.ref ?? ref.from };
}

interface PushedLine {
  tip: Oid;
  /** A branch, whatever it is called; of an archive, the branch that it was. */
  line: RefName;
  /** Null: `teddy/global`. */
  session: SessionId | null;
}

/** Nothing: the ref is deleted there, or is none of a session. */
async function toPushedLine(project: Project, { from, tip, to }: PushedRef): Promise<PushedLine[]> {
  if (tip === null) return [];
  if (to === globalRef) return [{ tip, line: to, session: null }];
  // By the name that it gets there, else by the one that it has here; of two branches, by that of a line.
  const names = [to, from as RefName].map((ref) => parseArchiveRef(ref)?.line ?? ref);
  const line = names.find((ref) => parseLineRef(ref) !== null) ?? names.find((ref) => ref.startsWith('refs/heads/'));
  const session = line === undefined ? null : await readSession(project, line, tip);
  return line === undefined || session === null ? [] : [{ tip, line, session }];
}

/** Finds what has left already: what the remote has now, by git, and what it had at the last fetch. */
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
