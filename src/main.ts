#!/usr/bin/env node
import { version } from '../package.json';

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
  process.stdout.write(`${version}\n`);
} else {
  // Loaded only now: the version is asked for often, by scripts that want it at once.
  const { runCli } = await import('./cli/run-cli.ts');
  process.exitCode = await runCli(argv);
}
