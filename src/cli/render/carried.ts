/** Renders what `teddy ci carry` kept and noted. */
import { shortRef } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import type { Carried } from '../../workflow/ci/carry.ts';

export function renderCarried({ archives, notes, lost }: Omit<Carried, 'range'>): string {
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
      ? ['No commit comes from a session. Nothing was changed.']
      : []),
  ];
  return rows.map((row) => `${toVisible(row)}\n`).join('');
}

function listPushes(lost: Carried['lost']): string {
  const sessions = [...new Set(lost.map(({ session }) => session))];
  return sessions.map((session) => `\`teddy push -s ${toShellWord(session)}\``).join(', ');
}
