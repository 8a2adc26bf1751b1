/** CREATE: writes a new file. */
import { equalBytes } from '../../session/text/bytes.ts';
import type { RepoPath } from '../../names.ts';
import { whyNotAFile } from '../../session/paths/out-of-reach.ts';
import { explainCollision } from '../../session/paths/twin-names.ts';
import type { WriteEffect } from '../effects/effect.ts';
import { described, refuse, type ActionBase, type ActionHandler, type ActionType } from './action.ts';
import { description, filePath, optional } from './spec.ts';

export interface CreateAction extends ActionBase {
  type: 'CREATE';
  path: RepoPath;
  content: string;
  overwrite: boolean;
}

export const create: ActionType<CreateAction> = {
  type: 'CREATE',
  purpose: 'writes a new file',
  parameters: [
    filePath,
    description,
    optional('Overwrite', 'boolean', 'replaces a file that is there already', 'true'),
  ],
  body: 'content',
  bodyExample: '```ts\nexport const answer = 42;\n```',

  read(from) {
    const path = from.path('File Path');
    const overwrite = from.boolean('Overwrite');
    const content = from.body.content();
    return path === null || content === null ? null : { path, content, overwrite };
  },

  target: ({ path }) => path,
  show: ({ content, path }) => ({ kind: 'content', text: content, path }),
  touches: ({ path }) => path,
  writes: ({ path }) => path,
};

export const createHandler: ActionHandler<CreateAction, WriteEffect> = {
  params: (action) => ({
    file_path: action.path,
    ...described(action),
    ...(action.overwrite ? { overwrite: true } : {}),
  }),
  looksAt: ({ path }) => path,

  async check(action, { inspect }) {
    const { index, path, content, overwrite } = action;
    const target = await inspect(path);
    const unusable = whyNotAFile(path, target);
    if (unusable !== null) return refuse(action, `CREATE ${path}: ${unusable}.`, 'Choose another path.');
    const clash = target.kind === 'absent' ? explainCollision(path, target.twin) : null;
    if (clash !== null) return refuse(action, `CREATE ${path}: ${clash}.`, 'Use that name, or choose another.');
    const after = new TextEncoder().encode(content);
    // Identical content is not a loss: if a run was interrupted after writing the file, a rerun succeeds.
    if (target.kind === 'file' && !overwrite && !equalBytes(target.bytes, after))
      return refuse(action, `CREATE ${path}: the file exists already.`, 'Use EDIT, or set `- **Overwrite:** true`.');
    const before = target.kind === 'file' ? target.bytes : null;
    return { effect: { kind: 'write', action: index, path, before, after, matches: [] } };
  },

  perform: (_action, effect, world) => world.write(effect),
};
