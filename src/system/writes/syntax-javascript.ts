/**
 * Checks JavaScript and TypeScript in a separate process: the parser is native code that crashes on deep nesting, and
 * takes half a gigabyte for 10 MiB.
 */
import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { OxcError, ParserOptions } from 'oxc-parser';
import { locator } from '../../write/positions.ts';
import type { Finding } from '../../write/write.ts';

type Dialect = Required<Pick<ParserOptions, 'lang'>> & { sourceTypes: NonNullable<ParserOptions['sourceType']>[] };

const timeoutMs = 30_000;
const maxTold = 100;

/** The child parses the file; a file that is valid as one of the source types has no errors. */
const script = `
const [path, lang, ...types] = process.argv.slice(1);
const { writeSync } = await import('node:fs');
const { parseSync } = await import(path);
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const text = Buffer.concat(chunks).toString();
let errors;
for (const sourceType of types) {
  const found = parseSync('file', text, { lang, sourceType, preserveParens: false }).errors.filter((e) => e.severity === 'Error');
  errors ??= found;
  if (found.length === 0) errors = found;
  if (found.length === 0) break;
}
const told = errors.slice(0, ${maxTold}).map(({ message, labels }) => ({ message: message.slice(0, 400), labels: labels.slice(0, 1) }));
writeSync(1, JSON.stringify(told));
`;

export async function checkJavascript(extension: string, text: string): Promise<Finding[] | { skipped: string }> {
  if (/^\s*(?:\/\/|\/\*)[^\n]*@flow\b/m.test(text.slice(0, 1000))) return { skipped: 'Flow is not parsed' };
  const parser = findParser();
  if (parser === null) return { skipped: 'oxc-parser is not installed' };
  const { lang, sourceTypes } = toDialect(extension);
  const answer = await runChild([parser, lang, ...sourceTypes], text);
  if (typeof answer !== 'string') return answer;
  const locate = locator(text);
  return (JSON.parse(answer) as Pick<OxcError, 'message' | 'labels'>[]).map(({ message, labels }) => ({
    check: 'syntax',
    message: /[.!?]$/.test(message) ? message : `${message}.`,
    ...(labels[0] && locate(labels[0].start)),
  }));
}

/** `d.ts` is used for declarations. */
function toDialect(extension: string): Dialect {
  if (extension.startsWith('d.')) return { lang: 'dts', sourceTypes: ['module'] };
  if (extension === 'tsx') return { lang: 'tsx', sourceTypes: ['module', 'commonjs'] };
  if (/^[mc]?ts$/.test(extension)) return { lang: 'ts', sourceTypes: ['module', 'commonjs'] };
  const first = extension === 'cjs' ? 'commonjs' : 'module';
  // `with` and a top-level `return` are valid in scripts that node loads.
  return { lang: 'jsx', sourceTypes: extension === 'mjs' ? [first] : [first, 'commonjs'] };
}

/** Looks next to teddy, or next to the program that uses teddy as a library. */
function findParser(): string | null {
  const main = process.argv[1];
  const loaders = [
    ...(typeof require === 'function' ? [require] : []),
    ...(main === undefined ? [] : [createRequire(toReal(main))]),
  ];
  for (const loader of loaders) {
    try {
      return loader.resolve('oxc-parser');
    } catch {
      // An optional dependency: try the next place, or none.
    }
  }
  return null;
}

function toReal(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function runChild(args: string[], text: string): Promise<string | { skipped: string }> {
  // These variables are for the user's own programs; they may slow down every start or make it wait for a debugger.
  const { NODE_OPTIONS: _, NODE_EXTRA_CA_CERTS: __, ...env } = process.env;
  const options = { env, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: Infinity } as const;
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--input-type=module', '--eval', script, ...args],
      options,
      (error, out) => {
        if (error === null) resolve(out);
        else if (typeof error.code === 'string')
          resolve({ skipped: `oxc-parser could not be started: ${error.message}` });
        else resolve({ skipped: toEnding(error.code ?? null, error.signal ?? null) });
      },
    );
    // The child may exit before it has read everything; its exit status reveals this.
    child.stdin?.on('error', () => undefined).end(text);
  });
}

function toEnding(exitCode: number | null, signal: string | null): string {
  if (signal === 'SIGKILL') return `the parser did not finish within ${timeoutMs / 1000} s`;
  if (signal !== null || (exitCode ?? 0) > 128) return 'the parser gave up: it is nested too deeply';
  return 'oxc-parser cannot be loaded';
}
