/** Files of ours that a killed process was writing or removing, and the record of a server that is gone. */
import { remainsOf, type Examination, type Found } from './finding.ts';

export const findLeftovers: Examination = async (scene) => {
  const { remains } = scene.project;
  const files = remainsOf(scene, 'leftover').map((remain): Found => ({
    kind: 'leftover',
    thing: remain.path,
    meaning: 'A process of teddy that is dead was writing or removing this; nothing needs it.',
    fix: 'removes it',
    todo: null,
    async mend() {
      await remains.clear(remain);
      return 'It is removed.';
    },
  }));
  const servers = remainsOf(scene, 'server').map((remain): Found => ({
    kind: 'dead-server',
    thing: remain.path,
    meaning: 'A `teddy serve` was killed, and its address and token are still on record; no program uses them.',
    fix: 'removes the record',
    todo: null,
    async mend() {
      await remains.clear(remain);
      return 'The record is removed.';
    },
  }));
  const strangers = remainsOf(scene, 'stranger').map(
    ({ path }) => `${path} is none of teddy's files; it is left alone.`,
  );
  return { found: [...files, ...servers], seen: 'leftovers', notes: strangers };
};
