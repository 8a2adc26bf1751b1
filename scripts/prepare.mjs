/**
 * npm runs this in a clone: after `npm ci`, before `npm pack`, and for `npm install -g .`, which installs no packages that a
 * build needs. Nobody who installs the package from elsewhere runs it.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

if (!existsSync(`${root}node_modules/esbuild`)) installPackages();
rmSync(`${root}dist`, { recursive: true, force: true });
await import('./build.mjs');

/** Installs into this clone, even if the npm that called this was told to install elsewhere. */
function installPackages() {
  const placing = /^npm_config_(?:global|location|prefix|local_prefix|global_prefix|omit|include|production)$/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !placing.test(name)));
  const npm = process.env['npm_execpath'];
  const [command, args] = npm === undefined ? ['npm', []] : [process.execPath, [npm]];
  execFileSync(command, [...args, 'ci', '--ignore-scripts'], { cwd: root, env, stdio: 'inherit' });
}
