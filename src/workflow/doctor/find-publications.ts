/** Lines that a killed command was moving: the ref, the index and the files may not fit, and locks may be left. */
import { shortRef } from '../../session/names.ts';
import { remainsOf, type Examination, type Found } from './finding.ts';

export const findPublications: Examination = async (scene) => {
  const { remains } = scene.project;
  const publications = remainsOf(scene, 'publication').map((remain): Found => {
    const line = shortRef(remain.ref);
    return {
      kind: 'interrupted-publication',
      thing: remain.path,
      meaning: `A command was killed while it added an entry to ${line} in ${remain.root}; its lock, or an index that does not fit, may be left.`,
      fix: 'finishes it if the entry is on the line, else takes it back, as the next command there does',
      todo: null,
      async mend() {
        await remains.clear(remain);
        return `What was left in ${remain.root} is finished or taken back.`;
      },
    };
  });
  const records = remainsOf(scene, 'ref-record').map((remain): Found => {
    const refs = remain.refs.map(shortRef).join(', ');
    return {
      kind: 'stale-ref-lock',
      thing: remain.path,
      meaning: `A command was killed while it moved ${refs === '' ? 'a ref' : refs}; git's lock of it may be left.`,
      fix: 'removes the lock if it is the one that the record tells of, and the record',
      todo: null,
      async mend() {
        await remains.clear(remain);
        return 'The record is gone, and with it the lock that it told of.';
      },
    };
  });
  return { found: [...publications, ...records], seen: 'interrupted commands' };
};
