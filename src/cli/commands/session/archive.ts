import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { shortRef, type RefName, type SessionId } from '../../../names.ts';
import { toShellWord } from '../../../session/text/shell-word.ts';
import type { ArchivedSession, RestoredSession } from '../../../workflow/landing/archive-session.ts';
import type { ArchivedLanded } from '../../../workflow/landing/archive-landed.ts';
import { parseSince } from '../../arguments.ts';
import { errorDocument, renderError } from '../../render/error.ts';
import { requireWholeName, toTarget } from './target-option.ts';
import { option, parameter, sessionOption, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class SessionArchiveCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Put away',
    description: "Archive a session's branches without losing anything.",
    details: `
      Deletes the main branch and all conversation branches, and keeps their contents under refs/teddy/archive/, below
      the month of the session: \`history\`, \`replay\` and \`verify\` still find it by its id. The session need not
      have landed. If this work tree is on one of the branches, teddy switches to the branch that the session started
      from, unless edits are in the way. If another work tree is on one of them, nothing changes.

      Branches on a remote stay, unless you give --remote. Then teddy archives the session here, lists its branches
      there, with the authors of their last turns and what has not landed, and asks. It deletes a branch only if
      everything on it is archived here.

      With --landed, teddy archives all sessions whose main branch has landed completely; with --older, only those whose
      last step, on any of their branches, is older. A session that is checked out in a work tree stays, as does any
      session that teddy would refuse to archive if you named it; teddy reports why, and continues with the others. With --dry-run,
      teddy lists the sessions and changes nothing.

      Exit codes: 0 done, or archived before; 2 no such session; 3 a branch is checked out, or an archive of that name
      has other content; with --landed, 3 if one of the sessions stays for such a reason; 4 --remote was not approved;
      5 the remote cannot be reached.
    `,
    examples: [
      ['A session that has landed', '$0 archive add-user-auth'],
      ['Also delete its branches on origin', '$0 archive add-user-auth --remote=origin'],
      ['Restore it', '$0 archive --restore add-user-auth'],
      ['All sessions that landed and are older than 30 days', '$0 archive --landed --older 30d --dry-run'],
    ],
  });

  target = parameter('session', { optional: true, completes: ['sessions'] });
  session = sessionOption();
  remote = option('--remote', {
    value: '[=name]',
    describe: 'Also delete its branches on the remote; lists them and asks first.',
  });
  yes = option('-y,--yes', { describe: 'Delete on the remote without asking; requires the whole name.' });
  restore = option('--restore', { describe: 'Create the branches again; the archive stays.', excludes: ['--remote'] });
  landed = option('--landed', {
    describe: 'Archive all sessions that have landed.',
    excludes: ['--restore', '--remote'],
  });
  older = option('--older', {
    value: '<time>',
    describe: 'With --landed: only if the last step is older than 12h, 30d, 4w, or a date such as 2026-11-01.',
    requires: ['--landed'],
  });
  dryRun = option('--dry-run', {
    describe: 'With --landed: list the sessions without changing anything.',
    requires: ['--landed'],
  });

  protected run(terminal: Terminal): Promise<number> {
    if (this.landed) return this.putLandedAway(terminal);
    const target = toTarget(this.target, this.session);
    return this.withProjectAndSignal(terminal, 'teddy archive', (project, signal) =>
      this.restore ? this.bringBack(terminal, project, target) : this.putAway(terminal, project, target, signal),
    );
  }

  private putLandedAway(terminal: Terminal): Promise<number> {
    if ((this.target ?? this.session) !== undefined)
      throw new TeddyError(
        'USAGE',
        '--landed archives every session that has landed, so it cannot be combined with a session.',
        'Omit one of them.',
      );
    const { older, dryRun, json } = this;
    return this.withProjectAndSignal(terminal, 'teddy archive --landed', async (project, signal) => {
      const beforeMs = older === undefined ? null : parseSince(older, project.clock.now().getTime(), '--older');
      const { archiveLanded } = await import('../../../workflow/landing/archive-landed.ts');
      const landed = await archiveLanded(project, { beforeMs, isDryRun: dryRun, signal });
      if (json) this.printJson(terminal, 'session-archive-landed', { dryRun, ...toLandedJson(landed) });
      else showLanded(terminal, landed, { dryRun, older });
      return landed.refused[0]?.problem.exitCode ?? 0;
    });
  }

  private async bringBack(terminal: Terminal, project: Project, target: string | undefined): Promise<number> {
    const { restoreArchived } = await import('../../../workflow/landing/archive-session.ts');
    const restored = await restoreArchived(project, requireTarget(target));
    if (this.json) this.printJson(terminal, 'session-archive', { ...toJson(restored), restored: true });
    else showRestored(terminal, restored);
    return 0;
  }

  private async putAway(
    terminal: Terminal,
    project: Project,
    target: string | undefined,
    signal: AbortSignal,
  ): Promise<number> {
    const { archiveSession, findWhole } = await import('../../../workflow/landing/archive-session.ts');
    const remote = this.remote === undefined ? null : await this.findRemote(project, this.remote, signal);
    if (remote !== null && this.yes && target !== undefined) {
      const { session, ref } = await findWhole(project, target, 'archive');
      requireWholeName(target, { session, refs: [ref], command: toCommand(session, remote) });
    }
    const archived = await archiveSession(project, target);
    if (!this.json) showArchived(terminal, archived);
    const { session } = archived;
    const deleted = remote === null ? [] : await this.deleteThere(terminal, project, { session, remote }, signal);
    const { workTrees, switchedTo, kept } = archived;
    const more = { restored: false, workTrees, switchedTo, kept: kept.map(shortRef), deleted: deleted.map(shortRef) };
    if (this.json) this.printJson(terminal, 'session-archive', { ...toJson(archived), ...more });
    return 0;
  }

  /** Returns the branches to delete on the remote. Throws NOT_APPROVED. */
  private async deleteThere(
    terminal: Terminal,
    project: Project,
    { session, remote }: { session: SessionId; remote: string },
    signal: AbortSignal,
  ): Promise<RefName[]> {
    const { deleteOnRemote, listRemoteArchive } = await import('../../../workflow/landing/archive-remote.ts');
    const there = await listRemoteArchive(project, session, remote, { signal });
    const name = toVisible(there.remote.label);
    for (const ref of there.left)
      terminal.say(toVisible(`${shortRef(ref)} on ${name} has something that is not archived here, so it is kept.`));
    if (there.branches.length === 0) {
      if (there.left.length === 0) terminal.say(`${name} has no branch of ${session} to delete.`);
      return [];
    }
    terminal.say(`These will be deleted on ${name}:`);
    for (const { ref, author, hasLanded } of there.branches)
      terminal.say(
        toVisible(`  ${shortRef(ref)}  last turn by ${author}, ${hasLanded ? 'landed there' : 'not landed there'}`),
      );
    if (!this.yes) await this.requireYes(project, name, session);
    await deleteOnRemote(project, there, { signal });
    const refs = there.branches.map(({ ref }) => ref);
    for (const ref of refs) if (!this.json) terminal.print(toVisible(`Deleted ${shortRef(ref)} on ${name}\n`));
    return refs;
  }

  private async findRemote(project: Project, wanted: string | boolean, signal: AbortSignal): Promise<string> {
    const { requireRemote } = await import('../../../workflow/landing/archive-remote.ts');
    return requireRemote(project, typeof wanted === 'string' ? wanted : undefined, { signal });
  }

  private async requireYes({ notices }: Project, name: string, session: SessionId): Promise<void> {
    if (await notices.confirm?.(`${session} is archived here. Delete them on ${name}, too?`)) return;
    const hint = `To delete without being asked: \`${toCommand(session, name)}\`.`;
    throw new TeddyError('NOT_APPROVED', `Nothing was deleted on ${name}. Here, ${session} is archived.`, hint);
  }
}

function toCommand(session: SessionId, remote: string): string {
  return `teddy archive ${session} --remote=${toShellWord(remote)} -y`;
}

function requireTarget(target: string | undefined): string {
  if (target !== undefined) return target;
  const hint = '`git for-each-ref refs/teddy/archive/` shows what is archived.';
  throw new TeddyError('USAGE', 'You named no session.', hint);
}

function toJson({ session, lines }: RestoredSession): object {
  return { session, lines: lines.map(({ line, ...kept }) => ({ line: shortRef(line), ...kept })) };
}

function toLandedJson({ archived, refused }: ArchivedLanded): object {
  return {
    archived: archived.map(({ workTrees, kept, ...session }) => ({
      ...toJson(session),
      workTrees,
      kept: kept.map(shortRef),
    })),
    refused: refused.map(({ session, problem }) => ({ session, problem: errorDocument(problem) })),
  };
}

function showLanded(
  terminal: Terminal,
  { archived, refused }: ArchivedLanded,
  { dryRun, older }: { dryRun: boolean; older: string | undefined },
): void {
  for (const { lines } of archived) warnOfUnlanded(terminal, lines, dryRun ? 'would keep' : 'keeps');
  for (const { lines } of archived)
    for (const { line, archive } of lines)
      terminal.print(dryRun ? `${shortRef(line)}\n` : toVisible(`${shortRef(line)} is now ${archive}\n`));
  for (const { session, problem } of refused) {
    terminal.say(`${session} stays:`);
    renderError(terminal, problem, { json: false, debug: false });
  }
  for (const root of archived.flatMap(({ workTrees }) => workTrees))
    terminal.say(toVisible(`A work tree is left: teddy worktree remove ${toShellWord(root)}`));
  const age = older === undefined ? '' : ` with a last step older than ${older}`;
  if (archived.length + refused.length === 0) terminal.say(`No session here has landed${age}.`);
  const count = archived.length === 1 ? '1 session' : `${archived.length} sessions`;
  if (dryRun) terminal.say(`${count} would be archived. Nothing was changed: this was a dry run.`);
  else if (archived.length > 0) terminal.say(`Archived ${count}. To bring one back: teddy archive --restore <session>`);
}

function warnOfUnlanded(terminal: Terminal, lines: ArchivedSession['lines'], keeps: string): void {
  const warning = terminal.style('yellow', 'warning:', 'stderr');
  for (const { line, hasLanded } of lines)
    if (!hasLanded) terminal.say(`${warning} ${shortRef(line)} has not landed: now only the archive ${keeps} it.`);
}

function showArchived(terminal: Terminal, { session, lines, kept, switchedTo, workTrees }: ArchivedSession): void {
  if (lines.length === 0) return terminal.say(`${session} is already archived.`);
  if (switchedTo !== null) terminal.say(toVisible(`Switched to ${switchedTo}.`));
  warnOfUnlanded(terminal, lines, 'keeps');
  for (const { line, archive } of lines) terminal.print(toVisible(`${shortRef(line)} is now ${archive}\n`));
  for (const ref of kept)
    terminal.say(toVisible(`${shortRef(ref)} is your own branch with turns from this session, so it is kept.`));
  for (const root of workTrees)
    terminal.say(toVisible(`Its work tree is left: teddy worktree remove ${toShellWord(root)}`));
  terminal.say(`To bring it back: teddy archive --restore ${session}`);
}

function showRestored(terminal: Terminal, { session, lines }: RestoredSession): void {
  if (lines.length === 0) return terminal.say(`The branches of ${session} already exist.`);
  for (const { line } of lines) terminal.print(`${shortRef(line)}\n`);
  const [first] = lines;
  if (first !== undefined) terminal.say(`To work on it: git switch ${shortRef(first.line)}`);
}
