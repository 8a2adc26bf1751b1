/** Other repositories, by git's own transports. Few commands need them: the rest is loaded by those alone. */
import type { Remotes } from '../ports.ts';
import type { Environment, GitRunner } from './run.ts';

export interface RemotesOptions {
  /** Where the user stands: paths are counted from there. */
  cwd: string;
  gitWith(added: Environment): GitRunner;
  /** Called after each transfer; a test may crash there. */
  onStep?: ((step: string) => void) | undefined;
}

/** Nobody is asked: an empty GIT_ASKPASS also keeps git from `core.askPass`; ssh has no terminal to ask at. */
const silentEnvironment = {
  GIT_ASKPASS: '',
  SSH_ASKPASS: undefined,
  SSH_ASKPASS_REQUIRE: 'never',
  GCM_INTERACTIVE: 'never',
};

export function lazyRemotes({ cwd, gitWith, onStep }: RemotesOptions): Remotes {
  let loading: Promise<Remotes> | undefined;
  const load = () =>
    (loading ??= import('./remote-transfers.ts').then(({ gitRemotes }) =>
      gitRemotes(gitWith(silentEnvironment), cwd, onStep),
    ));
  return {
    names: async () => (await load()).names(),
    list: async (...args) => (await load()).list(...args),
    fetch: async (...args) => (await load()).fetch(...args),
    push: async (...args) => (await load()).push(...args),
  };
}
