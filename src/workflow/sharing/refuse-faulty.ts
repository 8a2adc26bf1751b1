/** What nobody else would take is not sent: each line is checked as whoever pulls it checks it. */
import { TeddyError } from '../../errors.ts';
import type { Project, RefTip, RefUpdate, TransferOptions } from '../../ports.ts';
import {
  parseArchiveRef,
  parseLineRef,
  shortRef,
  type Oid,
  type RefName,
  type SessionId,
} from '../../session/names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import type { VerifiedLine, Violation } from '../verify/violation.ts';

/** `known`: what the remote has; `named`: the sessions of lines with names of their own. Throws FAULTY_SESSION. */
export async function refuseFaulty(
  project: Project,
  updates: readonly RefUpdate[],
  known: readonly RefTip[],
  named: ReadonlyMap<RefName, SessionId>,
  { signal, onProgress }: TransferOptions,
): Promise<void> {
  const { verifyLine } = await import('../verify/verify-line.ts');
  const checked = new Map<string, Set<Oid>>();
  const addChecked = (session: string, tip: Oid) => checked.set(session, (checked.get(session) ?? new Set()).add(tip));
  const sessionOf = (ref: RefName) => named.get(toBranch(ref)) ?? sessionOfName(ref);
  for (const { ref, oid } of known) addChecked(sessionOf(ref) ?? '', oid);
  for (const { ref, new: tip } of updates) {
    const session = sessionOf(ref);
    if (session === null || tip === null || checked.get(session)?.has(tip)) continue;
    const line = { session, name: shortRef(ref), ref, tip, after: null };
    const onEntries = (done: number) => onProgress?.({ phase: 'Checking entries', done, total: null });
    const verified = await verifyLine(project, line, {
      known: [...(checked.get(session) ?? [])],
      signal,
      onProgress: onEntries,
    });
    // For secrets everything that would leave is looked through.
    const faults = verified.violations.filter(({ rule }) => rule !== 'secret');
    if (faults[0] !== undefined) throw toFaulty(verified, faults[0], faults.length - 1);
    addChecked(session, tip);
  }
}

function toBranch(ref: RefName): RefName {
  return ref.replace(/^refs\/remotes\/[^/]+\//, 'refs/heads/') as RefName;
}

/** Also of a remote-tracking branch. */
function sessionOfName(ref: RefName): SessionId | null {
  const name = ref.replace(/^refs\/remotes\/.*?\/(?=teddy\/)/, 'refs/heads/');
  return (parseLineRef(name) ?? parseArchiveRef(name))?.session ?? null;
}

function toFaulty({ name, tip }: VerifiedLine, { commit, path, message }: Violation, moreFaults: number): TeddyError {
  const place = `${commit.slice(0, 12)}${path === null ? '' : `, ${path}`}`;
  const more = moreFaults === 0 ? '' : ` (and ${moreFaults} more)`;
  return new TeddyError(
    'FAULTY_SESSION',
    `${name} is not what it says, and nobody else could take it: ${place}: ${message.replace(/\.$/, '')}${more}. Nothing was pushed.`,
    `\`teddy session verify ${toShellWord(name)}\` shows it. To share what was before it: keep the line under another name (\`git branch <name> ${tip.slice(0, 12)}\`), then end it there (on it: \`git reset --keep ${commit.slice(0, 12)}^\`).`,
  );
}
