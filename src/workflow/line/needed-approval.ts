/** `teddy.approvals`: who has to approve a plan before teddy executes it. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type Oid, type SessionId, type TurnName } from '../../names.ts';
import type { AgentTrace } from '../../ports/project.ts';
import { findUsualRemote, requireUsable } from '../../session/settings/decide-setting.ts';
import { readBaseBranch } from '../../session/lines/lines.ts';
import { parseIdent } from '../../session/entries/logged-entry.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import { readApprovalPolicy } from './approval-policy.ts';
import type { ReadyLine } from './prepare.ts';
import { readVerdicts, type Verdict } from '../../view/view.ts';

/** The approval that `teddy.approvals` requires before teddy executes the plan. */
export interface NeededApproval {
  isNeeded: boolean;
  /** True when a user who is asked about each action also approves the plan that way. */
  isOwnEnough: boolean;
  /** The verdicts that count as approvals. */
  counted: readonly Verdict[];
  /** All verdicts, oldest first. */
  verdicts: readonly Verdict[];
  /** The message's author, whose approval does not count; null when anybody's approval counts, or the author is unknown. */
  asker: string | null;
  /** Why the other approvals do not count, for the error. */
  reason: string | null;
  /**
   * Why no signature shows who wrote the message, so that nobody can count as somebody else; null when one does, or
   * none is needed.
   */
  doubt: Doubt | null;
  /** Sentences, each of which describes an ignored setting that would require less. */
  notes: readonly string[];
}

/** Throws BAD_SETTING. */
export async function readApproval(project: Project, line: LineTip, turn: TurnName): Promise<NeededApproval> {
  const verdicts = await readVerdicts(project, { ...line, turn });
  const policy = await readApprovalPolicy(project, await readBaseBranch(project, line.tip));
  const setting = requireUsable(policy) ?? '0';
  const { notes } = policy;
  const since = verdicts.slice(verdicts.findLastIndex(({ verdict }) => verdict === 'rejected') + 1);
  const approved = since.filter(({ verdict }) => verdict === 'approved');
  if (setting !== 'others')
    return {
      isNeeded: setting === '1',
      isOwnEnough: true,
      counted: approved,
      asker: null,
      reason: null,
      verdicts,
      doubt: null,
      notes,
    };
  const asker = await findAsker(project, line, turn);
  const others = approved.filter(({ author }) => !isSamePerson(author.email, asker?.email));
  const isSigning = (await project.settings.get('sign')) === 'true';
  const { counted, doubt } = isSigning ? await listSigned(project, asker, others) : { counted: others, doubt: null };
  const reason =
    others.length > counted.length
      ? (doubt?.reason ?? 'Somebody else has approved it, but without a good signature from a key of their own.')
      : approved.length > others.length
        ? `So far, only ${asker?.email ?? "the message's author"}, who wrote the message, has approved it.`
        : null;
  return { isNeeded: true, isOwnEnough: false, counted, asker: asker?.email ?? null, reason, verdicts, doubt, notes };
}

/** Throws APPROVAL_MISSING, or AGENT_MAY_NOT_APPROVE when the caller is an agent; in either case nothing has run. */
export async function requireApproval(
  project: Project,
  { isNeeded, isOwnEnough, counted, asker, reason, doubt }: NeededApproval,
  { line, turn, isAsked }: { line: ReadyLine; turn: TurnName; isAsked: boolean },
): Promise<void> {
  if (!isNeeded || counted.length > 0) return;
  await refuseAgent(project, { name: shortRef(line.ref), turn });
  if (isOwnEnough && isAsked) return;
  const whose = isOwnEnough
    ? 'an approval'
    : `an approval by somebody who did not write its message${asker === null ? '' : ` (${asker} did)`}`;
  const isOther = asker !== null && !isSamePerson(await readOwnEmail(project), asker);
  const add = (await hasRemote(project)) ? '' : 'Add a remote (`git remote add origin <url>`). ';
  const command = `teddy approve ${turn} -s ${toShellWord(shortRef(line.ref))}`;
  throw new TeddyError(
    'APPROVAL_MISSING',
    `The plan of turn ${turn} needs ${whose} before it is executed (teddy.approvals).${reason === null ? '' : ` ${reason}`}`,
    isOwnEnough
      ? `Approve it: \`${command}\`; or execute it at a terminal without -y, where you are asked about each action.`
      : doubt !== null
        ? doubt.wayOut
        : isOther
          ? `Approve it: \`${command}\`. Then run the command again.`
          : `${add}Push the branch (\`teddy push -s ${toShellWord(shortRef(line.ref))}\`), have somebody else approve it with \`${command}\` and push, then pull it.`,
  );
}

/** Returns true if a session can be pushed without naming a remote. */
export async function hasRemote({ repository: { remotes } }: Project): Promise<boolean> {
  return findUsualRemote(await remotes.names()) !== undefined;
}

/** Returns true if the caller may approve a plan, given any detected agent. */
export async function mayApprove({ settings }: Project, trace: AgentTrace | null): Promise<boolean> {
  return trace === null || (await settings.get('agentsMayApprove')) === 'true';
}

/** Throws AGENT_MAY_NOT_APPROVE when there is evidence that the caller is an agent. `turn` is the plan's turn, if known. */
export async function refuseAgent(
  project: Project,
  { name, turn }: { name?: string | undefined; turn?: string | undefined } = {},
): Promise<void> {
  const trace = await project.callers.findAgent();
  if (trace === null || (await mayApprove(project, trace))) return;
  const words = [...(turn === undefined ? [] : [turn]), ...(name === undefined ? [] : ['-s', toShellWord(name)])];
  throw new TeddyError(
    'AGENT_MAY_NOT_APPROVE',
    `${turn === undefined ? 'The plan' : `The plan of turn ${turn}`} needs a person's approval. ${trace.seen}`,
    `A person approves it in a terminal of their own: \`${['teddy approve', ...words].join(' ')}\`.`,
  );
}

interface LineTip {
  session: SessionId;
  tip: Oid;
}

interface Asker {
  email: string;
  commit: Oid;
}

/**
 * Finds the author of the last message before the turn's plan; when an agent planned without a message, the author of
 * the plan's commit.
 */
export async function findAsker(
  { repository: { store } }: Project,
  { session, tip }: LineTip,
  turn: TurnName,
): Promise<Asker | null> {
  let planner: Asker | null = null;
  for await (const { oid, commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry === null || entry.session !== session || entry.turn !== turn) continue;
    const asker = { email: parseIdent(commit.author).email, commit: oid };
    if (entry.kind === 'message' && planner !== null) return asker;
    if (entry.kind === 'plan') planner = asker;
  }
  return planner;
}

/** Throws NO_IDENTITY. */
export async function readOwnEmail({ repository: { store } }: Project): Promise<string> {
  return parseIdent((await store.ident()).author).email;
}

export function isSamePerson(one: string, other: string | undefined): boolean {
  return one === '' || one.toLowerCase() === other?.toLowerCase();
}

/**
 * When signatures are required, a name is not enough: git has to trust the key, and neither the key nor its owner may
 * match those of the message.
 */
async function listSigned(
  { repository: { store } }: Project,
  asker: Asker | null,
  verdicts: readonly Verdict[],
): Promise<{ counted: Verdict[]; doubt: Doubt | null }> {
  const signatureOf = async (commit: Oid) => {
    const { parents } = await store.readCommit(commit);
    return (await store.checkSignatures(commit, parents, { withKeys: true })).get(commit) ?? null;
  };
  const own = asker === null ? null : await signatureOf(asker.commit);
  const counted: Verdict[] = [];
  const doubt = own?.state === 'good' && own.keys.length > 0 ? null : toDoubt(own?.state === 'unknown' ? asker : null);
  for (const verdict of verdicts) {
    const signature = await signatureOf(verdict.commit);
    if (own === null || doubt !== null || signature?.state !== 'good' || signature.keys.length === 0) continue;
    const isOwn = signature.signer === own.signer && own.signer !== '';
    if (!isOwn && !signature.keys.some((key) => own.keys.includes(key))) counted.push(verdict);
  }
  return { counted, doubt };
}

interface Doubt {
  reason: string;
  wayOut: string;
}

/** Explains the doubt. `untrusted` is the author who signed the message with a key that git does not trust. */
function toDoubt(untrusted: Asker | null): Doubt {
  const before = 'Somebody else has approved it, but the message has no good signature';
  if (untrusted !== null)
    return {
      reason: `${before}: git does not know or trust the key of ${untrusted.email}.`,
      wayOut: `\`git log -1 --show-signature ${untrusted.commit.slice(0, 10)}\` shows what git lacks; an ssh key has to be listed in the file that gpg.ssh.allowedSignersFile names.`,
    };
  return {
    reason: `${before}: nothing shows that they did not write it.`,
    wayOut:
      'Send the message again, signed: `teddy plan --instead -m "..."`; then somebody else can approve the new plan.',
  };
}
