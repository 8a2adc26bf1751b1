import { shortRef } from '../../../names.ts';
import { toShellWord } from '../../../session/text/shell-word.ts';
import { toVisible } from '../../../session/text/visible-text.ts';
import type { Carried, CarryRequest } from '../../../workflow/ci/carry.ts';
import { option, TeddyCommand, type Terminal, usage } from '../../teddy-command.ts';
import { readEventFile } from './comment.ts';

export class CiCarryCommand extends TeddyCommand {
  static override usage = usage({
    category: 'CI',
    description: 'After a merge on the forge, keep its sessions on the remote, and note where they went.',
    details: `
      For the commits that a push added to a branch, it finds the sessions: those that landings name, those whose
      entries were merged, and those of squashes. A squash is recognized by the pull request in its subject, as in
      \`Add it (#7)\`, or by a branch of the session or of \`teddy land --pr\` that is still there: merging that
      branch has to give exactly the squash.

      It archives the branches of these sessions on origin, under refs/teddy/archive/, so that deleting them loses
      nothing. For each squash, it adds the line \`Teddy-Landed-From: <session>@<commit>\` to the commit's note in
      refs/notes/teddy, by the rule \`cat_sort_uniq\`; if somebody else is faster, it starts again from their notes, up
      to ten times.

      \`teddy pull\` copies the notes to other clones. There, \`teddy why\`, \`teddy blame\` and \`teddy list\` use each
      note that the content proves.

      It deletes nothing, changes no branch, and pushes only these refs. No command of a session runs.

      Exit codes: 0 done, or there is nothing to do; 1 the remote does not have a session; 2 no such commit; 5 the
      remote cannot be reached, or refuses.
    `,
    examples: [
      ['The newest commit, after a merge', '$0 ci carry'],
      ['In a job that a push starts', '$0 ci carry --event "$GITHUB_EVENT_PATH"'],
      ['Several commits', '$0 ci carry --base v1.0 --head main'],
    ],
  });

  base = option('--base', {
    value: '<commit>',
    describe: 'The commit before the push. Default: the parent of the head.',
    excludes: ['--event'],
  });
  head = option('--head', {
    value: '<commit>',
    describe: 'The newest pushed commit. Default: HEAD.',
    excludes: ['--event'],
  });
  event = option('--event', { value: '<file>', describe: 'The file with the `push` event.' });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    return this.withProjectAndSignal(terminal, 'teddy ci carry', async (project, signal) => {
      const range = await this.readRange();
      if (range === null) return this.show(terminal, null);
      const { carrySessions } = await import('../../../workflow/ci/carry.ts');
      return this.show(terminal, await carrySessions(project, { range, remote: 'origin', signal }));
    });
  }

  /** Returns null when the push has made or deleted the branch. */
  private async readRange(): Promise<CarryRequest['range'] | null> {
    const { base, head = 'HEAD', event } = this;
    if (event === undefined) return { base, head };
    const { readPush } = await import('../../../workflow/ci/pull-request.ts');
    return readPush(await readEventFile(this.context, event));
  }

  private show(terminal: Terminal, carried: Carried | null): number {
    const { archives, notes, lost } = carried ?? { archives: [], notes: [], lost: [] };
    if (this.json) this.printJson(terminal, 'ci-carry', { range: carried?.range ?? null, archives, notes, lost });
    else terminal.print(renderCarried({ archives, notes, lost }));
    return lost.length === 0 ? 0 : 1;
  }
}

function renderCarried({ archives, notes, lost }: Omit<Carried, 'range'>): string {
  const rows = [
    ...archives.map(
      ({ session, archive, tip, isNew }) =>
        `${session} (${tip.slice(0, 10)}): ${isNew ? 'archived' : 'is archived already'} as ${shortRef(archive)}`,
    ),
    ...notes.map(({ commit, from, isNew }) => {
      const names = from.map(({ session, tip }) => `${session} as of ${tip.slice(0, 10)}`).join(', ');
      return `${commit.slice(0, 10)} is a squash of ${names}: ${isNew ? 'noted' : 'is noted already'}`;
    }),
    ...lost.map(({ session, commit, reason }) => `${session}, named by ${commit.slice(0, 10)}: ${reason}`),
    ...(lost.length === 0 ? [] : [`hint:  Push each session from a clone that has it: ${listPushes(lost)}.`]),
    ...(archives.length + notes.length + lost.length === 0
      ? ['No landing, and no squash of a branch that is still there, was found. Nothing was changed.']
      : []),
  ];
  return rows.map((row) => `${toVisible(row)}\n`).join('');
}

function listPushes(lost: Carried['lost']): string {
  const sessions = [...new Set(lost.map(({ session }) => session))];
  return sessions.map((session) => `\`teddy push -s ${toShellWord(session)}\``).join(', ');
}
