/**
 * Bundles the child program like the product, with the file system and the processes replaced. A sweep starts it many
 * times, so it keeps V8's compiled code, like the product.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
const standIns: Record<string, string> = {
  'node:fs/promises': join(here, 'faulty-fs.ts'),
  'node:child_process': join(here, 'faulty-process.ts'),
};

const exchange: Plugin = {
  name: 'exchange',
  setup({ onResolve }) {
    onResolve({ filter: /^node:(fs\/promises|child_process)$/ }, ({ path, importer }) =>
      importer === standIns[path] ? { path, external: true } : { path: standIns[path] ?? path },
    );
  },
};

const oldValue = ' ${update.old ?? zeroOid(update.new)}';

/** The race's control: refs move whatever their value is. */
const withoutOldValue: Plugin = {
  name: 'without-old-value',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/git\/refs\/refs\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      if (text.split(oldValue).length !== 2)
        throw new Error('src/git/refs/refs.ts writes the old value elsewhere now.');
      return { contents: text.replace(oldValue, ''), loader: 'ts' };
    });
  },
};

/** Returns the path of the program, below `dir`. */
export async function buildChild(dir: string, variant: 'as-it-is' | 'without-old-value' = 'as-it-is'): Promise<string> {
  const program = join(dir, `child-${variant}.cjs`);
  const code = join(dir, `child-${variant}.code.cjs`);
  const common = { bundle: true, format: 'cjs', platform: 'node', target: 'node20', logLevel: 'warning' } as const;
  await build({
    ...common,
    entryPoints: [join(here, 'child.ts')],
    outfile: code,
    // A `vm` script can load a Node module only by `require`.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'moduleUrl' },
    banner: { js: "const moduleUrl = require('node:url').pathToFileURL(__filename).href;" },
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    plugins: variant === 'as-it-is' ? [exchange] : [exchange, withoutOldValue],
  });
  const contents = `import { loadCompiled } from '../../src/cli/compiled-code.ts';
    const code = loadCompiled(${JSON.stringify(code)}, 'child');
    process.on('exit', () => code.keep());`;
  await build({ ...common, stdin: { contents, resolveDir: here }, outfile: program });
  return program;
}
