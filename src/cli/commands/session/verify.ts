import { randomUUID } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { version } from '../../../../package.json';
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { formatCount } from '../../../session/text/format-count.ts';
import type { VerifiedPage } from '../../../workflow/page/page-file.ts';
import type { VerifySessionRequest } from '../../../workflow/verify/session.ts';
import { openIfBundle } from './open-target.ts';
import {
  readKeyFile,
  readKeys,
  requireApprovalOption,
  requirePromiseOption,
  signedByOption,
  toNeededApproval,
  toNeededPromise,
} from './proof-options.ts';
import { toTarget } from './target-option.ts';
import { resolvePath } from '../../context.ts';
import { isClean, renderVerified } from '../../render/verified.ts';
import {
  option,
  parameter,
  sessionOption,
  TeddyCommand,
  type Terminal,
  usage,
  withInterrupt,
} from '../../teddy-command.ts';
import { toVisible } from '../../../session/text/visible-text.ts';

export class SessionVerifyCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Check that no part of a session was rewritten, forged or lost.',
    details: `
      For every entry on a branch, it checks the trailers and their order, that published files did not change, hashes,
      reports against what their commits changed, secrets, paths, and signatures if there are any. It re-renders each
      section of each _context.log from the commits and compares every byte. A section that shows something that was
      never committed, such as a file that was only on disk, could not be checked, and is counted (attested).

      Name the session by its id, a branch, a commit, a range (a..b), or a bundle file; without a name, it checks the
      session's branch that HEAD is on, or else the newest session. A name is a file if git does not know the name, or
      if it begins with \`./\`. All branches of a bundle are checked. For a range, teddy checks all branches that it
      includes, even through a merge; each session file in the range has to match an entry in the range. If somebody
      rewrote a whole session with new hashes, only signatures reveal it: \`git config teddy.sign true\` signs entries,
      and --signed-by requires every entry to be signed by one of the keys.

      With --require-approval, it is a fault if a plan was run without approval, or an agent continued without one. The
      approval may come later. A person who was asked about each action has approved the plan; for =others, that is not
      enough. Names are easily forged: with --signed-by added, the keys have to differ too.

      With --require-promise, it is a fault if a run changed a file that no plan on the branch names, such as a lock file
      that a command rewrote; \`promise.allow\` in the base branch's \`.teddy/config.yaml\` lists files that may change.
      With =strict, each run has to do all that its own plan names, and nothing else. Turns that were undone, and plans
      of other agents, which are prose, are not judged.

      With --page, teddy reads a file from \`teddy export --html\`, renders the page again from the commits that
      it was made from, and compares every byte, even if the session has grown since. Only the version of teddy that
      made a page can do that.

      Exit codes: 0 no fault; 1 faults, each named with commit, turn and file, or a shallow clone that lacks part of
      the branch, or a page that differs or that another version made; 2 no such session, commit or file.
    `,
    examples: [
      ['The session that HEAD is on', '$0 verify'],
      ['Every session branch in the repository, and its objects', '$0 verify --all --fsck'],
      ['The entries that a pull request adds', '$0 verify main..teddy/20260124-add-user-auth'],
      ['A bundle that somebody sent, for a script', '$0 verify session.bundle --json'],
      ['A page that somebody sent', '$0 verify --page session.html'],
      ['Every plan that was run, approved by somebody else', '$0 verify --require-approval=others'],
      ['No run changed more than the plans name', '$0 verify --require-promise'],
      ['Every entry signed by a key that you know', '$0 verify --signed-by ~/.ssh/id_ed25519.pub'],
    ],
  });

  target = parameter('session, commit, range or bundle', { optional: true, completes: ['sessions', 'files'] });
  session = sessionOption();
  all = option('--all', { describe: 'Check every session branch, including archived and remote ones.' });
  fsck = option('--fsck', { describe: 'Also run git fsck.' });
  signedBy = signedByOption();
  requireApproval = requireApprovalOption();
  requirePromise = requirePromiseOption();
  file = option('--page', { value: '<file>', describe: 'Compare a page with the commits that it was made from.' });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    const target = this.toTarget();
    const { file } = this;
    if (file !== undefined) return this.withProject(terminal, (project) => this.verifyPage(terminal, project, file));
    return this.withProject(terminal, async (here) => {
      const bundled = await openIfBundle(this.context, here, target);
      try {
        const project = bundled ?? here;
        const options = {
          target: bundled === null ? target : undefined,
          all: this.all || bundled !== null,
          fsck: this.fsck,
          signedBy: await readKeys(project, this.signedBy, (path) => readKeyFile(this.context, path)),
          requireApproval: toNeededApproval(this.requireApproval),
          requirePromise: toNeededPromise(this.requirePromise),
        };
        return await this.verify(terminal, project, options);
      } finally {
        await bundled?.repository.close();
      }
    });
  }

  private async verify(terminal: Terminal, project: Project, options: VerifySessionRequest): Promise<number> {
    const { verifySession } = await import('../../../workflow/verify/session.ts');
    const onProgress = toProgress(terminal);
    const verified = await withInterrupt(terminal, 'teddy verify', (signal) =>
      verifySession(project, { ...options, signal, onProgress }),
    );
    terminal.redraw(null);
    if (this.json) this.printJson(terminal, 'session-verify', { ok: isClean(verified), ...verified });
    else if (this.context.env['GITHUB_ACTIONS'] === 'true') {
      const { fenceOutput } = await import('../../render/replay-annotations.ts');
      terminal.print(fenceOutput(renderVerified(terminal, verified), randomUUID()));
    } else await this.page(terminal, project, renderVerified(terminal, verified));
    return isClean(verified) ? 0 : 1;
  }

  private async verifyPage(terminal: Terminal, project: Project, file: string): Promise<number> {
    const { verifyPageFile } = await import('../../../workflow/page/page-file.ts');
    const bytes = await readPageBytes(resolvePath(this.context, file), file);
    const verified = await verifyPageFile(project, { name: file, bytes }, version);
    const ok = verified.outcome === 'same';
    if (this.json)
      this.printJson(terminal, 'session-verify', { ok, lines: [], fsck: null, page: { file, ...verified } });
    else terminal.print(renderVerifiedPage(terminal, file, verified));
    return ok ? 0 : 1;
  }

  private toTarget(): string | undefined {
    const target = toTarget(this.target, this.session);
    if (this.all && target !== undefined)
      throw new TeddyError('USAGE', '`--all` cannot be combined with a name.', 'Omit one of them.');
    const policy = [this.requireApproval, this.requirePromise].some((one) => one !== undefined);
    const isMore = target !== undefined || this.all || this.fsck || this.signedBy.length > 0 || policy;
    if (this.file !== undefined && isMore)
      throw new TeddyError(
        'USAGE',
        '`--page` cannot be combined with a name or another check.',
        'Use `--page` alone; without it, `teddy verify` checks the session.',
      );
    return target;
  }
}

/** Larger than any page: a file over this size cannot be a page. */
const maxPageBytes = 256 * 1024 * 1024;

async function readPageBytes(path: string, name: string): Promise<Uint8Array> {
  try {
    const found = await stat(path);
    if (found.isFile() && found.size <= maxPageBytes) return await readFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? `The file ${name} does not exist.` : `${name} cannot be read: ${message}.`;
    throw new TeddyError('FILE_NOT_FOUND', reason, 'Name a file that `teddy export --html <file>` made.');
  }
  throw new TeddyError(
    'USAGE',
    `${name} is too large to be a page, or is not a file.`,
    'Make one: `teddy export --html <file>`.',
  );
}

function renderVerifiedPage(terminal: Terminal, file: string, page: VerifiedPage): string {
  const { outcome, session, commits, difference, version: made } = page;
  const some = commits.slice(0, 5).map((commit) => commit.slice(0, 10));
  const more = commits.length - some.length;
  const of = `${session} at ${some.join(', ')}${more > 0 ? ` and ${formatCount(more)} more` : ''}`;
  if (outcome === 'same')
    return `${toVisible(file)}: ${terminal.style('green', 'the same')} as the page rendered from the repository: ${of}\n`;
  if (outcome === 'other-version')
    return `${toVisible(file)}: ${terminal.style('yellow', 'not verified')}: git-teddy ${made} made it, and this is ${version}. Verify it with that version.\n`;
  const { line = 0, turn = null, part = null, hasMasks = false } = difference ?? {};
  const place = [...(turn === null ? [] : [`turn ${turn}`]), ...(part === null ? [] : [`#${part}`]), `line ${line}`];
  const note = hasMasks
    ? '  One of the two masks more secrets. Variables and .env files on one machine may contain secrets that are not on another.\n'
    : '';
  return `${toVisible(file)}: ${terminal.style('red', 'different')} from the page rendered from the repository, first in ${place.join(', ')}: ${of}\n${note}`;
}

/** Shows progress rarely enough to cost nothing; checking a short branch ends before anybody could read it. */
const entriesPerReport = 500;

function toProgress(terminal: Terminal): (entries: number) => void {
  return (entries) => {
    if (entries % entriesPerReport === 0) terminal.redraw(`${formatCount(entries)} entries verified`);
  };
}
