/**
 * Writes the generated pages of `docs/` (`npm run docs`). A test fails when one of them is stale; it calls this with
 * `--print`, which prints the pages as JSON and writes nothing.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { readAsText } from './read-as-text.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const outfile = join(root, 'dist', 'docs.js');

await build({
  entryPoints: [join(root, 'scripts', 'docs', 'pages.ts')],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  plugins: [readAsText],
  logLevel: 'warning',
});

const { renderPages } = await import(pathToFileURL(outfile).href);
const pages = [...renderPages()];
if (process.argv.includes('--print')) console.log(JSON.stringify(pages));
else {
  for (const [path, text] of pages) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
    console.log(path);
  }
}
