/** The same call as `npm run demo`, without building the executable again under the feet of other tests. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** `outfile` has to lie in `dist/`: the demo finds the executable beside itself. */
export async function bundleDemo(outfile: string): Promise<void> {
  await build({
    absWorkingDir: fileURLToPath(new URL('../..', import.meta.url)),
    entryPoints: ['test/demo/main.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    outfile,
  });
}
