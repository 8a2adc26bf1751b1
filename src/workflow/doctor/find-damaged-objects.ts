/** Objects of the lines that are missing or empty. */
import type { DamagedObject } from '../../ports/disk.ts';
import type { RefTip } from '../../ports/git.ts';
import { formatCount } from '../../session/format-count.ts';
import { archivePrefix, shortRef, type RefName } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { readDefaultBranches } from '../line/list.ts';
import type { Examination, Found } from './finding.ts';

export const findDamagedObjects: Examination = async ({ project, refs }) => {
  const { repository, remains } = project;
  if ((await repository.store.setting('extensions.partialClone')) !== undefined) {
    return {
      found: [],
      seen: null,
      notes: ['This is a partial clone: objects that are not here are no fault, and are not looked for.'],
    };
  }
  const tips = refs.filter(({ ref }) => !ref.startsWith('refs/remotes/') && !ref.startsWith('refs/teddy/quarantine/'));
  // Damage in the code alone is for `git fsck`.
  const bases = (await readDefaultBranches(project)).filter(({ ref }) => !tips.some((tip) => tip.ref === ref));
  const { objects, damaged } = await remains.checkObjects(
    tips,
    bases.map(({ oid }) => oid),
  );
  return { found: damaged.map((object) => toFound(object, refs)), seen: `${formatCount(objects)} objects` };
};

function toFound({ oid, ref, path }: DamagedObject, refs: readonly RefTip[]): Found {
  const remotes = refs.flatMap(({ ref: other }) => (isSameLine(ref, other) ? [other.split('/')[2] ?? ''] : []));
  const what = path === null ? `The object ${oid}` : `${path} (${oid})`;
  return {
    kind: 'damaged-object',
    thing: oid,
    meaning: `${what} of ${toName(ref)} is missing or damaged: what needs it cannot be read here.`,
    fix: null,
    todo:
      remotes[0] === undefined
        ? elsewhere
        : `${remotes.join(', ')} may have it: \`git fetch --refetch ${toShellWord(remotes[0])}\`.`,
    mend: null,
  };
}

const elsewhere = 'Another clone may have it: `git fetch --refetch <path or URL of that clone>`. See `git fsck`.';

function isSameLine(ref: RefName, other: RefName): boolean {
  const [, name] = /^refs\/remotes\/[^/]+\/(teddy\/.+)$/.exec(other) ?? [];
  return name !== undefined && ref === `refs/heads/${name}`;
}

function toName(ref: RefName): string {
  return ref.startsWith(archivePrefix) ? `archive/${ref.slice(archivePrefix.length)}` : shortRef(ref);
}
