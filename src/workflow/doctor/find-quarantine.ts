/** What a pull or sync that was killed has left in quarantine. */
import { clearQuarantine, listLeftInQuarantine } from '../line/quarantine.ts';
import { count, type Examination } from './finding.ts';

export const findQuarantine: Examination = async ({ project, refs }) => {
  const prefix = 'refs/teddy/quarantine/';
  if (!refs.some(({ ref }) => ref.startsWith(prefix))) return { found: [], seen: null };
  const left = await listLeftInQuarantine(project);
  if (left.length === 0) return { found: [], seen: 'quarantine' };
  return {
    found: [
      {
        kind: 'quarantine',
        thing: prefix,
        meaning: `A pull or sync was killed, and ${count(left.length, 'ref')} that it had fetched and not taken ${left.length === 1 ? 'is' : 'are'} still there.`,
        fix: 'removes them; the next pull fetches them again',
        todo: null,
        async mend() {
          await clearQuarantine(project);
          return 'They are removed.';
        },
      },
    ],
    seen: 'quarantine',
  };
};
