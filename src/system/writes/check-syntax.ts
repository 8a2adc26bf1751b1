/** Checks the syntax of a file, chosen by its name. Loads each parser when the first file in its language arrives. */
import { printParseErrorCode, visit, type ParseErrorCode, type ParseOptions } from 'jsonc-parser';
import type { SyntaxChecker } from '../../ports/project.ts';
import { extensionOf, fileName } from '../../write/file-kind.ts';
import type { Finding } from '../../write/write.ts';
import { locator } from '../../write/positions.ts';

type Verdict = Finding[] | { skipped: string };
type Check = (text: string) => Verdict | Promise<Verdict>;

const bom = '\uFEFF';

export function syntaxChecker(): SyntaxChecker {
  return {
    async check(path, text) {
      const check = findCheck(path);
      if (check === null) return null;
      try {
        return await check(text.startsWith(bom) ? text.slice(1) : text);
      } catch (error) {
        // The stack is too small for this file.
        if (error instanceof RangeError) return { skipped: 'it is nested too deeply' };
        throw error;
      }
    },
  };
}

const noParser: Check = () => ({ skipped: 'no parser is available for it' });

/** By file name extension. */
const checks: [extensions: string, check: Check][] = [
  ['json geojson topojson webmanifest jsonld ipynb har avsc map', checkJson],
  ['jsonc code-workspace swcrc jshintrc', checkJsonc],
  ['jsonl ndjson', checkJsonl],
  ['yaml yml', async (text) => (await import('./syntax-data.ts')).checkYaml(text)],
  ['toml', async (text) => (await import('./syntax-data.ts')).checkToml(text)],
  ['html htm xhtml', () => ({ skipped: 'HTML is not parsed' })],
  ['xml svg xsd xsl xslt rss atom plist csproj css scss sass less json5 vue svelte astro', noParser],
];

/** The tools that use these files read them as JSON with comments. */
const jsoncName =
  /(?:^|\/)(?:[tj]sconfig(?:\.[^/]+)?|\.?devcontainer|\.eslintrc|\.oxlintrc|deno|biome|turbo|typedoc|api-extractor|renovate)\.json$|(?:^|\/)\.(?:vscode|devcontainer)\/[^/]+\.json$/i;

function findCheck(path: string): Check | null {
  if (jsoncName.test(path)) return checkJsonc;
  const javascript = /\.((?:d\.)?[mc]?ts|tsx|[mc]?js|jsx)$/i.exec(path)?.[1]?.toLowerCase();
  if (javascript !== undefined) {
    return async (text) => (await import('./syntax-javascript.ts')).checkJavascript(javascript, text);
  }
  const extension = extensionOf(fileName(path));
  return checks.find(([extensions]) => extensions.split(' ').includes(extension))?.[1] ?? null;
}

const strict: ParseOptions = { disallowComments: true, allowTrailingComma: false };

const withComments: ParseOptions = { disallowComments: false, allowTrailingComma: true };

const maxTold = 100;

/** JSON, JSON with comments, and JSON Lines. */
function checkJson(text: string): Finding[] {
  return checkWhole(text, strict);
}

function checkJsonc(text: string): Finding[] {
  return checkWhole(text, withComments);
}

function checkWhole(text: string, options: ParseOptions): Finding[] {
  const locate = locator(text);
  return findJsonError(text, options).map(({ message, offset }) => ({ check: 'syntax', message, ...locate(offset) }));
}

/** Reads one value per line and skips empty lines. */
function checkJsonl(text: string): Finding[] {
  const findings: Finding[] = [];
  let line = 1;
  for (let start = 0; start < text.length && findings.length < maxTold; line += 1) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    const value = text.slice(start, end);
    const errors = /[^ \t\r]/.test(value) ? findJsonError(value, strict) : [];
    findings.push(...errors.map(({ message, offset }) => ({ check: 'syntax', message, line, column: offset + 1 })));
    start = end + 1;
  }
  return findings;
}

interface JsonError {
  message: string;
  offset: number;
}

/** Finds only the first error, because later ones mostly follow from it. */
function findJsonError(text: string, options: ParseOptions): JsonError[] {
  const errors: JsonError[] = [];
  visit(
    text,
    {
      onError(code, offset) {
        if (errors.length === 0) errors.push({ message: toSentence(code), offset });
      },
    },
    options,
  );
  return errors;
}

/** Turns `PropertyNameExpected` into "Property name expected." */
function toSentence(code: ParseErrorCode): string {
  return `${printParseErrorCode(code).replace(/\B[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}.`;
}
