#!/usr/bin/env node
import { version } from '../package.json';

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
  process.stdout.write(`${version}\n`);
} else {
  // Loaded only now: the version is asked for often, by scripts that want it at once.
  const { loadCompiled } = await import('./cli/compiled-code.ts');
  const isWord = (word: string) => /^[a-z]+$/.test(word);
  const command = argv.slice(0, 2).filter(isWord).join('-');
  // What a server alone needs would make the bundle of all other commands half as large again.
  const bundle = argv[0] === 'serve' ? 'serve.cjs' : 'cli.cjs';
  const code = loadCompiled<typeof import('./cli/run-cli.ts')>(new URL(bundle, import.meta.url), command);
  process.exitCode = await code.exports.runCli(argv);
  if (process.exitCode === 0) code.keep();
}
