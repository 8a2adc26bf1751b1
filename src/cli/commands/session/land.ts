import { composeText, hasProgram } from '../../../app.ts';
import { shortRef } from '../../../names.ts';
import { countOf } from '../../../session/spending/describe-spending.ts';
import { nameEdits } from '../../../session/text/name-some.ts';
import { toShellWord } from '../../../session/text/shell-word.ts';
import type { AuthorshipNote } from '../../../workflow/landing/authorship-log.ts';
import type { LandedForReview, WayToOpen } from '../../../workflow/landing/land-for-review.ts';
import type { Landed } from '../../../workflow/landing/land-session.ts';
import type { LandRequest } from '../../../workflow/landing/landing.ts';
import type { Project } from '../../../ports/project.ts';
import { toTarget } from './target-option.ts';
import { toSurroundings } from '../../context.ts';
import {
  option,
  parameter,
  sessionOption,
  TeddyCommand,
  type Terminal,
  usage,
  withInterrupt,
} from '../../teddy-command.ts';
import { errorDocument } from '../../render/error.ts';
import { endShared, showShared, showTransfer, toSharedJson } from '../../render/shared.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class SessionLandCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Land',
    description: "Land a session's code on a branch, as one commit.",
    details: `
      The target is --onto, or else the branch that the session started from. It gets the code at the tip of the
      session's branch, merged as git merges, and keeps its own .teddy; the turns stay on the session's branch, and
      under refs/teddy/archive/. Landing again adds what is new since then. If the target is checked out, its files
      are updated as by \`git merge --ff-only\`; edits in the way stop the landing. HEAD does not move.

      If the session was started from another session's branch, that session's code lands too, and teddy says so.

      The message ends with an \`Assisted-by: <tool>:<model>\` trailer for each model whose turns contributed code, as
      the Linux kernel requires. \`git config teddy.assistedBy false\` omits these trailers; a trailer with {tool} and
      {model} in place of \`false\` changes their format.

      Your own edits that a snapshot of the branch recorded land with it, and so does the code of a turn whose run
      failed; both are named, here and in the message. Edits from before the session's first message may belong to
      another commit: teddy asks, and without a terminal it requires --with-own-edits.

      With --pr, the code lands on a branch for a pull request, \`teddy-land/<session>\` or the one that you name, which
      starts from the remote's base branch; your own branches do not move. teddy pushes it together with the session,
      and says how to open the pull request. Later turns land on the same branch, as long as it is open; name it again
      if you named it.

      A conflict changes nothing; teddy prints the command to merge by hand.

      With \`git config teddy.notes git-ai\`, the commit gets an authorship log in the format of git-ai: a note in
      refs/notes/ai that records which of its lines models wrote. A push does not include it unless you name it.

      Exit codes: 0 done; 1 git failed; 2 no such session or branch; 3 nothing to land, own edits, a conflict, edits
      in the way, or a merge or a similar operation in progress.
    `,
    examples: [
      ['The session that HEAD is on', '$0 land'],
      ['Preview it', '$0 land --dry-run'],
      ['On a branch for a pull request, and push it', '$0 land --pr'],
      ['Another session, on a branch of your own', '$0 land add-user-auth --onto feature'],
      ['With a message of your own', '$0 land -m "Add the login route"'],
    ],
  });

  target = parameter('session', { optional: true, completes: ['sessions'] });
  session = sessionOption();
  onto = option('--onto', {
    value: '<branch>',
    describe: 'The branch to land on, or to ask to change with --pr. Default: the one that the session started from.',
  });
  pr = option('--pr', { value: '[=branch]', describe: 'Land on a branch for a pull request, and push it.' });
  message = option('-m,--message', {
    value: '<text>',
    describe: "The commit's subject and body. Default: the newest turn's title and a list of the turns.",
  });
  edit = option('--edit', { describe: 'Write the message in your editor.' });
  withOwnEdits = option('--with-own-edits', {
    describe: "Also land your own edits from before the session's first message, without asking.",
  });
  dryRun = option('--dry-run', { describe: 'Show what would land, without changing anything.' });

  protected run(terminal: Terminal): Promise<number> {
    const target = toTarget(this.target, this.session);
    return this.withProject(terminal, async (project) => {
      const { landSession } = await import('../../../workflow/landing/land-session.ts');
      const edit = this.edit
        ? (text: string) => composeText(project, toSurroundings(this.context), text, 'LAND.md')
        : undefined;
      const { onto, message, dryRun: isDryRun, withOwnEdits } = this;
      const request = { target, onto, message, edit, isDryRun, withOwnEdits };
      if (this.pr !== undefined && this.pr !== false) return this.landForReview(terminal, project, request);
      const landed = await landSession(project, request);
      if (this.json) this.printJson(terminal, 'session-land', toJson(landed, this.dryRun));
      else if (this.dryRun) showDryRun(terminal, landed);
      else showLanded(terminal, landed);
      if (landed.obstacle !== null && !this.json) throw landed.obstacle;
      return landed.obstacle?.exitCode ?? 0;
    });
  }

  private async landForReview(terminal: Terminal, project: Project, request: LandRequest): Promise<number> {
    const { findWayToOpen, landForReview } = await import('../../../workflow/landing/land-for-review.ts');
    const branch = typeof this.pr === 'string' ? this.pr : undefined;
    const onProgress = showTransfer(terminal);
    const found = await withInterrupt(terminal, 'teddy status', (signal) =>
      landForReview(project, { ...request, branch, signal, onProgress }).finally(() => terminal.redraw(null)),
    );
    const title = found.landed?.message.split('\n')[0] ?? found.session;
    const way = findWayToOpen({ ...found, title });
    const { landed, shared, remote } = found;
    if (this.json) {
      const { branch: name, base, session } = found;
      const push = shared && toSharedJson(shared, this.dryRun);
      const pullRequest = { branch: name, base, remote: remote.label, address: way?.address ?? null, push };
      this.printJson(terminal, 'session-land', { session, ...(landed && toJson(landed, this.dryRun)), pullRequest });
    } else if (this.dryRun) {
      if (landed !== null) showDryRun(terminal, landed);
      else terminal.say(toVisible(`${found.branch} has all of the code already.`));
    } else {
      const hasClient = way !== null && (await hasProgram(way.program, this.context.env));
      showForReview(terminal, found, hasClient ? way : way && { ...way, command: '' });
    }
    const problem = landed?.obstacle ?? found.refusal;
    if (problem !== null && !this.json) throw problem;
    if (problem !== null) return problem.exitCode;
    return landed?.obstacle?.exitCode ?? (shared === null ? 0 : endShared(terminal, shared, { json: this.json }));
  }
}

/** Says that the branch is pushed, and how to open the pull request: by `way`, or on the remote. */
function showForReview(terminal: Terminal, found: LandedForReview, way: WayToOpen | null): void {
  const { landed, session, shared, branch, base, remote } = found;
  if (landed !== null) showLanded(terminal, { ...landed, remote: null, archiveCommand: null });
  const isNew = shared?.lines.some(({ did, problem }) => did.length > 0 || problem !== null) === true;
  if (shared !== null && isNew) showShared(terminal, shared, { dryRun: false, verb: 'push', selector: session });
  terminal.say(toVisible(`${branch} is on ${remote.label}, for a pull request into ${base}.`));
  if (way === null) return terminal.say(toVisible(`Open one there, unless there is one already.`));
  terminal.say(toVisible(`To open the pull request in a browser: ${way.address}`));
  if (way.command !== '') terminal.say(toVisible(`Or type: ${way.command}`));
}

function toJson(landed: Landed, dryRun: boolean): object {
  const { line, onto, changes, ownEdits, root, obstacle, archiveCommand: _, remote: _remote, ...rest } = landed;
  return {
    session: line.session,
    line: line.name,
    tip: line.tip,
    onto: shortRef(onto),
    dryRun,
    ...rest,
    files: changes.map(({ path, change }) => ({ path, change })),
    ownEdits: ownEdits.map(({ path, of }) => ({ path, session: of })),
    workTree: root,
    obstacle: obstacle && errorDocument(obstacle),
  };
}

function showLanded(terminal: Terminal, landed: Landed): void {
  const { line, onto, commit, wasCutOff, along, assistedBy, changes, root, archive, note, archiveCommand, remote } =
    landed;
  const branch = toVisible(shortRef(onto));
  const what = wasCutOff ? 'had already landed' : 'landed';
  const files = wasCutOff ? '' : `${countOf(changes.length, 'file')}, `;
  terminal.print(`${toVisible(line.name)} ${what} on ${branch}: ${files}commit ${commit?.slice(0, 10)}\n`);
  reportIncludedSessions(terminal, along);
  reportAlsoLanded(terminal, landed);
  if (assistedBy.length > 0 && !wasCutOff)
    terminal.say(
      toVisible(`Its message has the ${assistedBy.length === 1 ? 'trailer' : 'trailers'} ${assistedBy.join('; ')}.`),
    );
  if (root !== null && !wasCutOff) terminal.say(`The files in ${toVisible(root)} were updated.`);
  if (archive !== null) terminal.say(`Its turns are kept on ${toVisible(line.name)}, and under ${archive}.`);
  if (note !== null) printNote(terminal, note, remote);
  if (remote !== null) terminal.say(toVisible(`Next: git push ${toShellWord(remote)} ${toShellWord(shortRef(onto))}`));
  if (archiveCommand === null) return;
  const when = remote === null ? 'Next' : 'Then';
  terminal.say(`${when}, when you are done with it: ${toVisible(archiveCommand)}`);
}

function printNote(terminal: Terminal, { ref, lines, files }: AuthorshipNote, remote: string | null): void {
  const what = `${countOf(lines, 'line')} by models, in ${countOf(files, 'file')}`;
  terminal.say(`Its authorship log is in ${ref}: ${what}.`);
  if (remote !== null) terminal.say(`To push the log as well: git push ${toVisible(toShellWord(remote))} ${ref}`);
}

function reportIncludedSessions(terminal: Terminal, along: readonly string[]): void {
  if (along.length > 0)
    terminal.say(`Code from ${along.join(', ')} is included, because this session started from it.`);
}

function reportAlsoLanded(terminal: Terminal, { ownEdits, failed }: Landed): void {
  const edits = nameEdits(ownEdits, (names) => `your own edits to ${names}`);
  if (edits.length > 0) terminal.say(toVisible(`It includes ${edits.join(' and ')}.`));
  for (const { turn, status } of failed)
    terminal.say(`The run of turn ${turn} ended in ${status}; its code is included.`);
}

function showDryRun(terminal: Terminal, landed: Landed): void {
  const { line, onto, message, along, changes, root, obstacle } = landed;
  const where = root === null ? '' : `, and the files in ${root} would be updated`;
  const count = countOf(changes.length, 'file');
  const would = obstacle === null ? 'would land' : 'cannot land yet; it would land';
  terminal.say(toVisible(`${line.name} ${would} on ${shortRef(onto)}${where}: ${count}. No branch was moved.`));
  reportIncludedSessions(terminal, along);
  reportAlsoLanded(terminal, landed);
  const rows = changes.map(({ path, change }) => `${change.slice(0, 1).toUpperCase()} ${path}\n`);
  terminal.print(toVisible(`${message}\n${rows.join('')}`));
}
