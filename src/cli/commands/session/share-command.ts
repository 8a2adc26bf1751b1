/** Base class of `teddy push`, `pull` and `sync`: each reads the options, runs one workflow, and prints its results. */
import { TeddyError } from '../../../errors.ts';
import type { Project } from '../../../ports/project.ts';
import type { Shared, ShareRequest } from '../../../workflow/sharing/shared-line.ts';
import { endShared, showShared, showTransfer, toSharedJson } from '../../render/shared.ts';
import { option, parameter, TeddyCommand, type Terminal } from '../../teddy-command.ts';

export function archiveOption(): string[] {
  return option('--archive', {
    value: '<yyyy-mm>',
    many: true,
    describe: 'Include the archived sessions from a month, such as 2026-01; can be repeated.',
  });
}

export abstract class ShareCommand extends TeddyCommand {
  remote = parameter('remote', { optional: true });
  session = option('-s,--session', {
    value: '<session>',
    describe: 'A session id or a unique part of it, or a branch: the session with all its branches.',
  });
  all = option('--all', { describe: 'Share all sessions.', excludes: ['-s'] });
  dryRun = option('--dry-run', { describe: 'Show what would happen, without changing anything.' });

  protected override trustsHead = () => 'once' as const;
  protected readonly archive: string[] = [];
  protected abstract readonly verb: string;
  /** Loads the workflow. */
  protected abstract load(): Promise<(project: Project, request: ShareRequest) => Promise<Shared>>;

  protected run(terminal: Terminal): Promise<number> {
    return this.withProjectAndSignal(terminal, `teddy ${this.verb} --dry-run`, async (project, signal) => {
      const shared = await this.shareWithProgress(terminal, project, signal);
      const { json, dryRun, verb, session: selector } = this;
      if (json) this.printJson(terminal, `session-${verb}`, toSharedJson(shared, dryRun));
      else showShared(terminal, shared, { dryRun, verb, selector });
      return endShared(terminal, shared, { json });
    });
  }

  /** Adds a hint when the user named a session in place of a remote. */
  private async withSessionHint(project: Project, error: unknown): Promise<unknown> {
    const { remote, verb } = this;
    if (!(error instanceof TeddyError) || !ofRemotes.includes(error.code) || remote === undefined) return error;
    const { listMainLines } = await import('../../../session/lines/main-lines.ts');
    const named = (await listMainLines(project)).findLast(
      ({ session }) => session === remote || session.slice('20260124-'.length) === remote,
    );
    if (named === undefined) return error;
    const hasRemote = (await project.repository.remotes.names()).length > 0;
    const hint = hasRemote
      ? `${remote} is a session: \`teddy ${verb} -s ${named.session}\`.`
      : `${remote} is a session, to be named with -s, and this repository has no remote: \`git remote add origin <url>\`.`;
    return new TeddyError(error.code, error.message, hint, { cause: error });
  }

  private async shareWithProgress(terminal: Terminal, project: Project, signal: AbortSignal): Promise<Shared> {
    const { remote, session: selector, all, dryRun } = this;
    const request = { remote, selector, all, dryRun, signal, onProgress: showTransfer(terminal) };
    const months = parseMonths(this.archive);
    try {
      const share = await this.load();
      return await share(project, { ...request, months });
    } catch (error) {
      throw await this.withSessionHint(project, error);
    } finally {
      terminal.redraw(null);
    }
  }
}

const ofRemotes = ['UNKNOWN_REMOTE', 'REMOTE_UNREACHABLE'];

/** Reads the months that --archive names. Throws USAGE. */
function parseMonths(months: readonly string[]): readonly string[] {
  const wrong = months.find((month) => !/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month));
  if (wrong === undefined) return months;
  const message = `--archive cannot be ${JSON.stringify(wrong)}.`;
  throw new TeddyError('USAGE', message, 'Use the year and month of the sessions: --archive 2026-01.');
}
