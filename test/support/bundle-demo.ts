/** The same call as `npm run demo`, without rebuilding the executable while other tests use it. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** `outfile` has to be in `dist/`: the demo finds the executable beside itself. */
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
