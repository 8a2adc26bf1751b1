import type { WriteContent } from '../../../ports/disk.ts';
import { shortRef } from '../../../names.ts';
import type { Project } from '../../../ports/project.ts';
import type { Terminal } from '../../terminal.ts';
import { completeKnownId, ServedCommand, type Calling } from './write-command.ts';
import { parameter, usage } from '../../teddy-command.ts';

export class WriteListCommand extends ServedCommand {
  static override usage = usage({
    category: 'Write large files',
    description: 'List write sessions, oldest first, or show the progress of one.',
    details: `
      Interrupted sessions are listed too: \`teddy write recover <id>\` continues one. Listing does not extend a
      session's life. After success, teddy shows its commit for an hour.
    `,
    examples: [
      ['All write sessions', '$0 write list'],
      ['One session', '$0 write list 3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77'],
    ],
  });

  id = parameter('id', { optional: true });

  protected run(terminal: Terminal): Promise<number> {
    return this.withWrites(terminal, async (calling) => {
      await (this.id === undefined ? this.showAll(terminal, calling) : this.showOne(terminal, calling, this.id));
      return 0;
    });
  }

  private async showAll(terminal: Terminal, { writes, project, clock }: Calling): Promise<void> {
    const sessions = await writes.list();
    if (this.json) {
      this.printJson(terminal, 'write-list', { sessions });
      return;
    }
    if (sessions.length === 0) {
      terminal.say('There are no write sessions. Begin one: teddy write begin, or teddy write stream');
      return;
    }
    const { renderStatuses } = await import('../../render/write.ts');
    await this.page(
      terminal,
      project,
      renderStatuses(terminal, sessions, clock.now().getTime(), await this.readBranches(project)),
    );
    const left = sessions.find(({ stage }) => stage === 'orphaned' || stage === 'damaged');
    if (left !== undefined)
      terminal.say(
        `Continue an interrupted session: teddy write recover ${left.session_id}, or with a model: teddy write ask --resume ${left.session_id}; or clear them all away: teddy write cancel --ended`,
      );
  }

  private async showOne(terminal: Terminal, calling: Calling, begun: string): Promise<void> {
    const id = await completeKnownId(calling, begun);
    const status = await calling.writes.status(id);
    const { describeAside, renderStatus, toAsideJson } = await import('../../render/write.ts');
    const aside = await this.readAside(calling.project, id);
    if (this.json) {
      const session = { ...status, ...(aside ? { aside: toAsideJson(aside) } : {}) };
      this.printJson(terminal, 'write-list', { sessions: [session] });
      return;
    }
    const branch = (await this.readBranches(calling.project)).get(id);
    terminal.print(renderStatus(terminal, status, calling.clock.now().getTime(), branch));
    for (const line of describeAside(aside ?? [], false)) terminal.say(line);
  }

  /** Returns the branch of each file's session, by ID. Empty with a server, which does not report branches. */
  private async readBranches(project: Project | null): Promise<ReadonlyMap<string, string>> {
    if (project === null || this.server !== undefined) return new Map();
    const { listWrites } = await import('../../../workflow/writes/list.ts');
    const lines = (await listWrites(project)).map(({ id, record }) => [id, record?.line?.ref] as const);
    return new Map(lines.flatMap(([id, ref]) => (ref === undefined ? [] : [[id, shortRef(ref)]])));
  }

  /** Returns null with a server, which does not report these bytes. */
  private async readAside(project: Project | null, id: string): Promise<WriteContent['aside'] | null> {
    if (project === null || this.server !== undefined) return null;
    const { showWrite } = await import('../../../workflow/writes/list.ts');
    return (await showWrite(project, id)).aside;
  }
}
