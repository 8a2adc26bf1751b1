#!/usr/bin/env node
/** Starts teddy, from code that was compiled earlier if there is any. */
import { join } from 'node:path';
import { version } from '../package.json';

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
  process.stdout.write(`${version}\n`);
} else {
  run().catch(explain);
}

async function run(): Promise<void> {
  // Loaded only now, because scripts often ask for the version, and want it immediately.
  const { loadCompiled, nameUse } = await import('./cli/compiled-code.ts');
  const code = loadCompiled<typeof import('./cli/run-cli.ts')>(join(__dirname, 'cli.cjs'), nameUse(argv));
  process.exitCode = await code.exports.runCli(argv);
  if (process.exitCode === 0) code.keep();
}

/** Reports that the code itself could not be read, in which case none of it can report anything. */
function explain(error: unknown): void {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code !== 'EMFILE' && code !== 'ENFILE') throw error;
  const hint = 'Raise the limit, `ulimit -S -n "$(ulimit -H -n)"`, or open a new shell; then run the command again.';
  process.stderr.write(`error: teddy could not be read: ${message} [TOO_MANY_FILES]\nhint:  ${hint}\n`);
  process.exitCode = 1;
}
