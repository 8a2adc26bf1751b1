/** Every command needs these: an identity, room for the branches, the rules that keep session files as they are. */
import { TeddyError } from '../../errors.ts';
import { remainsOf, type Examination, type Found } from './finding.ts';

export const findEnvironment: Examination = async (scene) => ({
  found: [...(await findIdentity(scene)), ...(await findBranch(scene)), ...findAttributes(scene)],
  seen: 'environment',
});

type Find = (scene: Parameters<Examination>[0]) => Promise<Found[]>;

const findIdentity: Find = async ({ project }) => {
  try {
    await project.repository.store.ident();
    return [];
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code !== 'NO_IDENTITY') throw error;
    return [
      {
        kind: 'identity',
        thing: 'user.name, user.email',
        meaning: 'git does not know who you are, so that no entry can be written.',
        fix: null,
        todo: error.hint ?? 'Set user.name and user.email with `git config`.',
        mend: null,
      },
    ];
  }
};

const findBranch: Find = async ({ project }) => {
  if ((await project.repository.store.listRefs('refs/heads/teddy')).every(({ ref }) => ref !== 'refs/heads/teddy'))
    return [];
  return [
    {
      kind: 'branch-in-the-way',
      thing: 'refs/heads/teddy',
      meaning: 'A branch called `teddy` is in the way: git cannot hold teddy/<session> beside it.',
      fix: null,
      todo: 'Rename it: `git branch -m teddy <other>`.',
      mend: null,
    },
  ];
};

/** Before the first session there is nothing to keep. */
function findAttributes(scene: Parameters<Examination>[0]): Found[] {
  if (scene.refs.length === 0) return [];
  return remainsOf(scene, 'attributes').map(({ path }): Found => ({
    kind: 'attributes',
    thing: path,
    meaning: 'The rules that keep git from rewriting session files were changed.',
    fix: 'writes the marked block again; other lines stay as they are',
    todo: null,
    async mend() {
      await scene.project.repository.installAttributes();
      return 'The block is there again.';
    },
  }));
}
