/** Secrets that git's credential helpers keep for a URL. */
import type { GitRunner } from './run.ts';
import type { GitSetting } from './settings.ts';

/**
 * A helper that answers every host alike, as in many CI jobs, gives a token of the forge: only what is kept under this
 * name is meant for teddy.
 */
const userName = 'teddy';

/** Without a prompt of any kind. An empty GIT_ASKPASS also keeps git from `core.askPass` and SSH_ASKPASS. */
const silent = {
  settings: ['-c', 'credential.interactive=false'],
  env: { GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: '', GCM_INTERACTIVE: 'never' },
};

/** Null when no helper is configured for the URL, or none has anything. */
export async function readCredential(
  git: GitRunner,
  settings: ReadonlyMap<string, GitSetting>,
  url: URL,
): Promise<string | null> {
  if (!hasHelper(settings, url)) return null;
  const asked = { protocol: url.protocol.replace(':', ''), host: url.host, username: userName };
  const input = `${Object.entries(asked)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')}\n`;
  // 128: nobody has it, and nobody may be asked.
  const { exitCode, stdout } = await git.run([...silent.settings, 'credential', 'fill'], {
    input,
    env: silent.env,
    accept: [1, 128],
  });
  return exitCode === 0 ? toPassword(stdout.toString('utf8')) : null;
}

/** Whether it is worth asking: which of them a URL really matches is for git to say. */
function hasHelper(settings: ReadonlyMap<string, GitSetting>, url: URL): boolean {
  return [...settings].some(([key, { value }]) => {
    const found = /^credential\.(?:(.*)\.)?helper$/s.exec(key);
    if (found === null || value === '') return false;
    const pattern = found[1];
    return pattern === undefined || pattern.includes('*') || pattern.includes(url.hostname);
  });
}

function toPassword(text: string): string | null {
  const fields = new Map(
    text.split('\n').map((line): [string, string] => [line.split('=')[0] ?? '', line.slice(line.indexOf('=') + 1)]),
  );
  return fields.get('username') === userName ? fields.get('password') || null : null;
}
