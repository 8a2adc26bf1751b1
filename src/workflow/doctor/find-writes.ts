/** Write sessions that nobody goes on with. */
import type { Project } from '../../ports/project.ts';
import { formatCount } from '../../session/format-count.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { clearWrite, judgeWrite } from '../writes/clean.ts';
import { readWriteLimits } from '../writes/held.ts';
import { count, remainsOf, type Examination, type Found } from './finding.ts';

export const findWrites: Examination = async (scene) => {
  const writes = remainsOf(scene, 'write');
  if (writes.length === 0) return { found: [], seen: 'write sessions' };
  const limits = await readWriteLimits(scene.project);
  const nowMs = scene.project.clock.now().getTime();
  const judged = writes.map((remain) => ({ remain, verdict: judgeWrite(remain.found, limits, nowMs) }));
  const found = judged.flatMap(({ remain, verdict }) => toFound(scene.project, remain, verdict));
  return { found, seen: count(writes.length, 'write session') };
};

type Write = Parameters<typeof toFound>[1];

function toFound(
  project: Project,
  { path, found: write }: { path: string; found: Parameters<typeof judgeWrite>[0] },
  verdict: ReturnType<typeof judgeWrite>,
): Found[] {
  const { id, record, state } = write;
  const target = record?.target ?? 'an unknown file';
  const base = { kind: 'staged-write' as const, thing: path, fix: null, mend: null };
  switch (verdict) {
    case 'damaged':
      return [
        {
          ...base,
          meaning: `A write session for ${target} is damaged: what it has received cannot be confirmed.`,
          todo: `See what is there: \`teddy write show ${id}\`. \`teddy write clean\` keeps it below refs/teddy/keep/writes/ and clears it away.`,
        },
      ];
    case 'placed':
      return [
        {
          ...base,
          meaning: `A write session has put ${target} in its place, or was about to, and was killed before its entry was on the line.`,
          todo: `Finish it: \`teddy write recover ${id} --finalize\`.`,
        },
      ];
    case 'orphaned':
      return [
        {
          ...base,
          meaning: `A write session for ${target} was killed with ${formatCount((state?.size ?? 0) + write.tailBytes)} bytes received.`,
          todo: `Go on with it: \`teddy write recover ${toShellWord(id)}\`.`,
        },
      ];
    case 'old':
      return [
        {
          ...base,
          meaning: `A write session for ${target} is over or abandoned, and its files are still there.`,
          fix: 'keeps what it has received below refs/teddy/keep/writes/ and clears it away, as the next command that writes does',
          todo: null,
          mend: () => clear(project, write),
        },
      ];
    case 'held':
    case 'result':
      return [];
  }
}

async function clear(project: Project, write: Write['found']): Promise<string> {
  const cleaned = await clearWrite(project, write);
  if (cleaned === null) return 'Somebody goes on with it by now.';
  const kept = cleaned.kept.map((oid) => `\`git cat-file -p ${oid}\``).join(', ');
  return kept === '' ? 'It is cleared away; there was no content in it.' : `It is cleared away; its content: ${kept}.`;
}
