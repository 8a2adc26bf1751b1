/** Answers of models that killed commands had received. */
import { formatCount } from '../../session/format-count.ts';
import { shortRef } from '../../session/names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { prepareLine } from '../prepare-line.ts';
import { remainsOf, type Examination, type Found } from './finding.ts';

export const findAnswers: Examination = async (scene) => ({
  found: remainsOf(scene, 'answer').map((remain): Found => {
    const { path, place, bytes, isDamaged } = remain;
    const what = `A command was killed while an answer arrived (${formatCount(bytes)} bytes are on disk)`;
    if (place === null || isDamaged) return toDamaged(path, what);
    const line = shortRef(place.ref);
    const isThere = scene.refs.some(({ ref }) => ref === place.ref);
    const found = { kind: 'staged-answer' as const, thing: path };
    const meaning = `${what}; it is of turn ${place.turn} on ${line}.`;
    if (!isThere) return { ...found, meaning, fix: null, todo: toGone(line), mend: null };
    return {
      ...found,
      meaning,
      fix: 'keeps it in its turn, as the next command on that line does',
      todo: `\`teddy session resume -s ${toShellWord(line)}\` keeps it and goes on.`,
      async mend() {
        await prepareLine(scene.project, place.ref);
        return `It is kept in turn ${place.turn} of ${line}, or aside where that has gone on.`;
      },
    };
  }),
  seen: 'staged answers',
});

function toDamaged(thing: string, what: string): Found {
  return {
    kind: 'staged-answer',
    thing,
    meaning: `${what}; what says where it belongs, or part of the answer, is damaged.`,
    fix: null,
    todo: `Look at it: \`ls ${toShellWord(thing)}\`. The next command on a line keeps its bytes below refs/teddy/keep/answers/.`,
    mend: null,
  };
}

function toGone(line: string): string {
  return `${line} is gone: the next command on any line keeps the answer below refs/teddy/keep/answers/.`;
}
