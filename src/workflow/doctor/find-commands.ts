/** Commands of conversations that were cut off: what they changed in `.teddy/` is to be put back. */
import { shortRef } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { prepareLine } from '../line/prepare.ts';
import { remainsOf, type Examination, type Found } from './finding.ts';

export const findCommands: Examination = async (scene) => ({
  found: remainsOf(scene, 'command').map(({ path, note }): Found => {
    const found = { kind: 'interrupted-command' as const, thing: path };
    if (note === null) {
      return {
        ...found,
        meaning:
          'The note of a command that a conversation ran is damaged: nothing says what it may have changed in .teddy/.',
        fix: null,
        todo: `Look at \`git diff HEAD -- .teddy\`, take back what is not yours, then remove the note: \`rm ${toShellWord(path)}\`.`,
        mend: null,
      };
    }
    const line = shortRef(note.ref);
    const meaning = `A conversation was killed while it ran a command of turn ${note.turn} on ${line} in ${note.root}; what that changed in .teddy/ may still be there.`;
    if (!scene.refs.some(({ ref }) => ref === note.ref)) {
      return {
        ...found,
        meaning,
        fix: null,
        todo: `${line} is gone: look at ${note.root}, then \`rm ${toShellWord(path)}\`.`,
        mend: null,
      };
    }
    return {
      ...found,
      meaning,
      fix: 'puts .teddy/ back as it was, as the next command on that line does',
      todo: null,
      async mend() {
        await prepareLine(scene.project, note.ref);
        return 'Its .teddy/ is as it was before the command.';
      },
    };
  }),
  seen: 'commands of conversations',
});
