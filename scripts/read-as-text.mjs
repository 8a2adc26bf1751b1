import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transform } from 'esbuild';

/** The style sheet and the scripts of the page are part of what it renders, so they are text here; in the tests, vitest reads them so. */
export const readAsText = {
  name: 'read-as-text',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\?raw$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.slice(0, -'?raw'.length)),
      namespace: 'text',
    }));
    onLoad({ filter: /./, namespace: 'text' }, async ({ path }) => {
      const loader = path.endsWith('.css') ? 'css' : 'js';
      const { code } = await transform(readFileSync(path, 'utf8'), { loader, minify: true, target: 'es2022' });
      return { contents: code.trimEnd(), loader: 'text' };
    });
  },
};
