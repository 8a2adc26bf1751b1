import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Command, Option } from 'clipanion';
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import { formatCount } from '../../../session/format-count.ts';
import type { VerifiedLine, Violation } from '../../../session/violation.ts';
import type { VerifiedSessions, VerifySessionRequest } from '../../../workflow/verify/session.ts';
import { openIfBundle } from './open-target.ts';
import { toTarget } from './target-option.ts';
import { resolvePath } from '../../context.ts';
import { TeddyCommand, withInterrupt } from '../../teddy-command.ts';
import type { Terminal } from '../../terminal.ts';
import { toVisible } from '../../../session/visible-text.ts';

export class SessionVerifyCommand extends TeddyCommand {
  static override paths = [['session', 'verify']];
  static override usage = Command.Usage({
    category: 'Look',
    description: 'Check that nothing of a session was rewritten, forged or lost.',
    details: `
      For every entry of a line, it checks the trailers and the place in the order, that published files stayed
      as they were, hashes, reports against what their commits changed, secrets, paths, and signatures if there
      are any. What each _context.log shows is rendered again from the commits and compared byte for byte
      (derived); what nothing can render again, such as a file that only the disk had, is counted as attested.

      Name the session by its id, a branch, a commit, a range (a..b), or a bundle file; without a name, it is
      the line that HEAD is on, else the newest session. A name is a file if git does not know the name, or if
      it begins with \`./\`. All lines of a bundle are checked. For a range, teddy checks all lines that it
      brings, also by a merge; each session file that it brings has to be as an entry that it brings has it.
      Only signatures reveal somebody who rewrote a whole session with new hashes: \`git config teddy.sign true\`
      signs entries, and --signed-by requires every entry to be signed by one of the keys.

      Exit codes: 0 no fault; 1 faults, each named with commit, turn and file, or a shallow clone that lacks
      some of the line; 2 no such session, commit or file.
    `,
    examples: [
      ['The session that HEAD is on', '$0 session verify'],
      ['Every line of the repository, and its objects', '$0 session verify --all --fsck'],
      ['What a pull request adds', '$0 session verify main..teddy/20260124-add-user-auth'],
      ['A bundle that somebody sent, for a script', '$0 session verify session.bundle --json'],
      ['Every entry signed by a key that you know', '$0 session verify --signed-by ~/.ssh/id_ed25519.pub'],
    ],
  });

  target = Option.String({ name: 'session, commit, range or bundle', required: false });
  session = Option.String('-s,--session', {
    description: 'A session id or a unique part of it, a branch, or a session directory.',
  });
  all = Option.Boolean('--all', false, { description: 'Check every line, also archived ones and those of remotes.' });
  fsck = Option.Boolean('--fsck', false, { description: 'Also run git fsck.' });
  signedBy = Option.Array('--signed-by', {
    description:
      'Require every entry to be signed by this key: its fingerprint, or a file with public ssh keys. Give it several times to allow several keys.',
  });

  protected override actsAtOnce = () => true;

  protected run(terminal: Terminal): Promise<number> {
    const target = this.toTarget();
    return this.withProject(terminal, async (here) => {
      const bundled = await openIfBundle(this.context, here, target);
      try {
        const project = bundled ?? here;
        const options = {
          target: bundled === null ? target : undefined,
          all: this.all || bundled !== null,
          fsck: this.fsck,
          signedBy: await this.readKeys(project),
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
    const verified = await withInterrupt(terminal, 'teddy session verify', (signal) =>
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

  private async readKeys(project: Project): Promise<ReadonlySet<string> | undefined> {
    if (this.signedBy === undefined) return undefined;
    const { readSigningKeys } = await import('../../../workflow/verify/signing-keys.ts');
    return readSigningKeys(project, this.signedBy, (path) =>
      readFile(resolvePath(this.context, path), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null;
        throw new TeddyError('USAGE', `${path} cannot be read: ${error.message}.`, 'Name a file with public keys.');
      }),
    );
  }

  private toTarget(): string | undefined {
    const target = toTarget(this.target, this.session);
    if (this.all && target !== undefined)
      throw new TeddyError('USAGE', '`--all` and a name exclude each other.', 'Leave one of them out.');
    return target;
  }
}

/** Progress is shown so rarely that it costs nothing; a short line is done before anybody could read it. */
const entriesPerReport = 500;

function toProgress(terminal: Terminal): (entries: number) => void {
  return (entries) => {
    if (entries % entriesPerReport === 0) terminal.redraw(`${formatCount(entries)} entries verified`);
  };
}

function isClean({ lines, change, fsck }: VerifiedSessions): boolean {
  const isWell = lines.every(({ violations, isWhole }) => isWhole && violations.length === 0);
  return isWell && (change?.violations ?? []).length === 0 && (fsck ?? []).length === 0;
}

function renderVerified(terminal: Terminal, { lines, change, fsck }: VerifiedSessions): string {
  const faults = change?.violations ?? [];
  const isEmpty = lines.length === 0 && faults.length === 0;
  const blocks = isEmpty ? ['There is no session here.\n'] : lines.map((line) => renderLine(terminal, line));
  if (faults.length > 0)
    blocks.push(
      `session files of the change: ${terminal.style('red', count(faults.length, 'fault'))}\n`,
      ...faults.map(renderViolation),
    );
  const said = (fsck ?? []).map((row) => `  ${toRow(row)}\n`);
  const summary = said.length === 0 ? 'no fault' : terminal.style('red', count(said.length, 'fault'));
  return [...blocks, ...(fsck === null ? [] : [`git fsck: ${summary}\n`, ...said])].join('');
}

function renderLine(terminal: Terminal, line: VerifiedLine): string {
  const { name, entries, turns, derived, attested, violations, isWhole, notes } = line;
  const signed = line.signed === null ? '' : `, signed ${formatCount(line.signed)}`;
  const looked = `${count(entries, 'entry', 'entries')} in ${count(turns, 'turn')}`;
  const trust = attested === 0 ? '' : `, ${formatCount(attested)} taken on trust`;
  const checked = ` (${count(derived, 'part')} rendered again and compared${trust}${signed})`;
  const verdict =
    violations.length > 0
      ? terminal.style('red', count(violations.length, 'fault'))
      : isWhole
        ? terminal.style('green', 'no fault')
        : terminal.style('yellow', 'not verified');
  const rows = violations.map(renderViolation);
  return [
    `${toVisible(name)}: ${looked}: ${verdict}${checked}\n`,
    ...rows,
    ...notes.map((note) => `  ${toVisible(note)}\n`),
  ].join('');
}

function renderViolation({ rule, commit, turn, path, message }: Violation): string {
  const place = [
    commit.slice(0, 10),
    ...(turn === null ? [] : [`turn ${turn}`]),
    rule,
    ...(path === null ? [] : [path]),
  ];
  return `  ${toRow(`${place.join(' ')}: ${message}`)}\n`;
}

/** Text from a repository must not begin a line of its own. */
function toRow(text: string): string {
  return toVisible(text)
    .split('\n')
    .map((row) => row.trim())
    .join(' ');
}

function count(amount: number, one: string, many = `${one}s`): string {
  return `${formatCount(amount)} ${amount === 1 ? one : many}`;
}
