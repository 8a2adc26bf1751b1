/**
 * Builds `dist/` from `src/` (`npm run build`), with everything bundled, so that an installation has only one package.
 *
 * `npm run types` also generates the types of the library again.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';
import { parseSync, Visitor } from 'oxc-parser';
import { renderLicenses } from './licenses.mjs';
import { readAsText } from './read-as-text.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const inRoot = (...path) => join(root, ...path);

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20',
  // The paths of tsconfig.json name types for the compiler, not code.
  tsconfigRaw: {},
  // Identifiers keep their names, so that a stack trace in a bug report can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
};

/**
 * A chunk of secretlint's preset, 0.9 MB: node-forge, which its rule for Google's service accounts needs to read PKCS12 files
 * from the disk. `system/secrets/secret-rules.ts` never runs that rule.
 */
const withoutForge = ['./index-BDnqZat0.js'];

/**
 * Packages that few commands need: they would make the file that every command reads a third larger. Each file has those of one
 * room, and all that the room takes from them.
 */
const packagesApart = {
  // Separate, because two of the others use it.
  './zod-packages.cjs': { zod: ['*'] },
  './mcp-packages.cjs': {
    '@modelcontextprotocol/server': ['McpServer', 'ResourceTemplate'],
    '@modelcontextprotocol/server/stdio': ['serveStdio', 'StdioServerTransport'],
  },
  './server-packages.cjs': {
    '@hono/node-server': ['getRequestListener'],
    '@hono/node-server/utils/response': ['RESPONSE_ALREADY_SENT'],
    '@hono/zod-openapi': ['createRoute', 'OpenAPIHono', 'z'],
  },
  './page-packages.cjs': {
    'markdown-it': ['default'],
    'highlight.js/lib/common': ['default'],
  },
};

const fileOfPackage = new Map(
  Object.entries(packagesApart).flatMap(([file, packages]) => Object.keys(packages).map((path) => [path, file])),
);

const leavePackagesApart = {
  name: 'leave-packages-apart',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(?:zod$|(?:@?hono|@modelcontextprotocol|markdown-it|highlight\.js)(?:\/|$))/ }, ({ path }) =>
      fileOfPackage.has(path)
        ? { path, namespace: 'package-apart' }
        : { errors: [{ text: `${path} is not in packagesApart of scripts/build.mjs.` }] },
    );
    onLoad({ filter: /./, namespace: 'package-apart' }, ({ path }) => {
      const isDefault = packagesApart[fileOfPackage.get(path)][path].includes('default');
      const taken = isDefault ? `[${JSON.stringify(path)}]` : '';
      return { contents: `module.exports = require('${fileOfPackage.get(path)}')${taken};` };
    });
  },
};

/** A default export is found by the name of its package, because a file can have only one. */
function renderApart(packages) {
  return Object.entries(packages)
    .map(([path, names]) =>
      names.includes('default')
        ? `export { default as ${JSON.stringify(path)} } from '${path}';`
        : `export ${names.includes('*') ? '*' : `{ ${names.join(', ')} }`} from '${path}';`,
    )
    .join('\n');
}

/**
 * zod is left to its own file, with the English of its messages: those of 50 languages are 260 KB. The validator that the SDK of MCP
 * brings for a user's answers to questions, 150 KB, is left out: `teddy mcp` asks nobody.
 */
const withoutUnused = {
  name: 'without-unused',
  setup({ onResolve, onLoad, initialOptions }) {
    const isZods = initialOptions.outfile?.endsWith('zod-packages.cjs');
    if (!isZods) onResolve({ filter: /^zod(?:\/v4)?$/ }, () => ({ path: './zod-packages.cjs', external: true }));
    const instead = {
      'locales/index.js': "export { default as en } from 'zod/v4/locales/en.js';",
      '@modelcontextprotocol/server/_shims':
        "export { default as process } from 'node:process'; export class DefaultJsonSchemaValidator {}",
    };
    onResolve({ filter: /^(?:\.\.?\/locales\/index\.js|@modelcontextprotocol\/server\/_shims)$/ }, ({ path }) => ({
      path: path.replace(/^\.\.?\//, ''),
      namespace: 'instead',
    }));
    onLoad({ filter: /./, namespace: 'instead' }, ({ path }) => ({ contents: instead[path], resolveDir: root }));
  },
};

/**
 * isomorphic-git brings these along and a reader never calls them, 16 KB of the 82 that `dist/reader.js` may have when it is compressed:
 * pako's half that deflates, new names of branches, merges, ignore rules, and what tells typed arrays apart in engines that are older than those. Of `yaml`
 * nothing is called: files that the reader does not use import it.
 */
const onlyReading = {
  name: 'only-reading',
  setup({ onResolve, onLoad }) {
    const instead = {
      pako: "module.exports = require('pako/lib/inflate.js');",
      'to-buffer': 'module.exports = (data, encoding) => Buffer.from(data, encoding);',
      'clean-git-ref': '',
      diff3: '',
      ignore: '',
    };
    onResolve({ filter: /^(?:clean-git-ref|diff3|ignore|pako|to-buffer)$/ }, ({ path }) => ({
      path,
      namespace: 'instead',
    }));
    onLoad({ filter: /./, namespace: 'instead' }, ({ path }) => ({ contents: instead[path], resolveDir: root }));
    onResolve({ filter: /^yaml$/ }, () => ({ path: inRoot('node_modules/yaml/browser/index.js'), sideEffects: false }));
  },
};

/**
 * Keeps the names of our own code for readable stack traces. Names inside packages are shortened, which saves a
 * twentieth of the package.
 */
const shortNames = {
  name: 'short-names',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]node_modules[\\/].*\.[cm]?js$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, 'utf8'), { minifyIdentifiers: true, target: common.target });
      return { contents: code, loader: 'js' };
    });
  },
};

/** Reports an error when somebody starts the code of the commands by its own name, which would otherwise do nothing. */
const refuseToRun = `{
  process.stderr.write('error: dist/cli.cjs is no command: run dist/main.cjs, or teddy where it is installed. [USAGE]\\n');
  process.exitCode = 2;
}`;

const targets = {
  // The executable. Node starts it 6 ms faster than a module.
  main: { format: 'cjs', entryPoints: ['src/main.ts'], outfile: 'dist/main.cjs' },
  // All commands in one file, since V8's code cache is for one script: it halves the start of a short command. The library
  // is the same code, and adds 3 KB here; built by itself it took 1.7 MB. It is loaded later, so that a command sets up only
  // what it needs of the file.
  cli: {
    format: 'cjs',
    stdin: {
      contents: `export * from './src/cli/run-cli.ts'; export const loadLibrary = () => import('./src/index.ts');
        if (require.main === module) ${refuseToRun}`,
      resolveDir: root,
    },
    outfile: 'dist/cli.cjs',
    external: [...withoutForge, ...Object.keys(packagesApart)],
    inject: ['scripts/web.mjs'],
    // A script of `vm` can load Node's modules only with `require`.
    supported: { 'dynamic-import': false },
    // The package's main file has a form whose parts esbuild does not find.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    plugins: [leavePackagesApart, readAsText, shortNames],
  },
  // The library without git, in one file that browsers load directly. It is minified as a whole, and includes its own
  // `Buffer`.
  reader: {
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    entryPoints: ['src/reader/reader.ts'],
    outfile: 'dist/reader.js',
    inject: ['scripts/buffer.mjs'],
    plugins: [onlyReading],
    minify: true,
  },
  ...Object.fromEntries(
    Object.entries(packagesApart).map(([file, packages]) => [
      file,
      // These contain no code of ours, so their identifiers need not be readable in a stack trace.
      {
        format: 'cjs',
        minifyIdentifiers: true,
        stdin: { contents: renderApart(packages), resolveDir: root },
        outfile: join('dist', file),
        plugins: [withoutUnused],
      },
    ]),
  ),
};

/** The entry points that others import: `git-teddy` and `git-teddy/reader`. */
const libraries = ['index', 'reader/reader'];

removeOld();
const metafiles = [];
for (const target of Object.values(targets)) {
  report(target.outfile);
  metafiles.push((await build({ ...common, ...target })).metafile);
}
for (const file of ['cli.cjs', ...Object.keys(packagesApart)]) compact(inRoot('dist', file));
for (const file of ['main.cjs', 'cli.cjs', 'reader.js', ...Object.keys(packagesApart)]) hideCode(inRoot('dist', file));
// Links and hooks of earlier versions use this name.
writeFileSync(inRoot('dist/main.js'), "#!/usr/bin/env node\nimport './main.cjs';\n");
for (const name of ['main.cjs', 'main.js']) chmodSync(inRoot('dist', name), 0o755);
writeFileSync(inRoot('dist/index.js'), await renderLibrary());
writeFileSync(inRoot('dist/THIRD-PARTY-LICENSES'), renderLicenses(root, metafiles));
if (process.argv.includes('--types') || !hasNewTypes()) {
  report('dist/types');
  makeTypes();
}

/** Reports each step to whoever waits for `npm ci`, which prints nothing of its own while a script runs. */
function report(path) {
  if (process.env['npm_lifecycle_event'] === 'prepare') console.error(`teddy: building ${path} ...`);
}

/**
 * Plain ASCII loads in half the time. esbuild leaves regular expressions and tagged templates as they are; an escape means the
 * same there. The functions that set up a module have its path for a name: 40 KB that nobody calls them by.
 */
function compact(path) {
  const toEscape = (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const text = readFileSync(path, 'utf8').replace(/[^\0-\x7F]/g, toEscape);
  writeFileSync(path, text.replace(/(__(?:esm|commonJS)\(\{(?:async )?)"[^"]+"\(/g, '$1_('));
}

/**
 * Where nobody catches an error, Node shows the line of the code that it comes from, and a line is some hundred thousand characters here.
 * It shows none that says so; inside of a text of several lines that has to stand behind the text.
 */
function hideCode(path) {
  const text = readFileSync(path, 'utf8');
  const texts = [];
  const onTemplate = ({ quasis }) =>
    texts.push(...quasis.filter(({ start, end }) => text.slice(start, end).includes('\n')));
  new Visitor({ TemplateLiteral: onTemplate }).visit(parseSync(path, text).program);
  let [marked, done] = ['', 0];
  const mark = (at) => ([marked, done] = [`${marked}${text.slice(done, at)}/*node-do-not-add-exception-line*/`, at]);
  const starts = [...text.matchAll(/^(?!#!)/gm)].map(({ index }) => index);
  const ends = texts.toSorted((a, b) => a.start - b.start);
  for (const start of starts) {
    while (ends[0] !== undefined && ends[0].end < start) ends.shift();
    const inside = ends[0] !== undefined && ends[0].start < start ? ends[0] : undefined;
    if (inside === undefined) mark(start);
    else if (!text.slice(start, inside.end).includes('\n')) mark(inside.end + (text[inside.end] === '$' ? 2 : 1));
  }
  writeFileSync(path, marked + text.slice(done));
}

/** Removes V8's compiled code of the replaced files, and files that earlier builds made under other names. */
function removeOld() {
  mkdirSync(inRoot('dist'), { recursive: true });
  const names = readdirSync(inRoot('dist')).filter((name) =>
    /\.cache$|^chunks$|^serve\.cjs$|^compiled-code\.js$/.test(name),
  );
  for (const name of names) rmSync(inRoot('dist', name), { recursive: true });
}

/** Generates the file with the names of the library, for `import`. The code is the same as that of the commands. */
async function renderLibrary() {
  const { metafile } = await build({
    ...common,
    bundle: false,
    entryPoints: ['src/index.ts'],
    format: 'esm',
    write: false,
  });
  const [{ exports }] = Object.values(metafile.outputs);
  return `import code from './cli.cjs';\nexport const { ${exports.join(', ')} } = await code.loadLibrary();\n`;
}

/** The types of the libraries are generated only when their names change, because that takes longer than everything else. */
function hasNewTypes() {
  return libraries.every((name) => {
    const made = inRoot('dist/types/src', `${name}.d.ts`);
    return existsSync(made) && statSync(made).mtimeMs > statSync(inRoot('src', `${name}.ts`)).mtimeMs;
  });
}

/** Keeps only the files that the libraries refer to. The others do not belong to them, and name packages that are bundled. */
function makeTypes() {
  rmSync(inRoot('dist/types'), { recursive: true, force: true });
  const compiler = inRoot('node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', 'src/tsconfig.types.json'], { cwd: root, stdio: 'inherit' });
  const reached = new Set();
  for (const name of libraries) reachTypes(inRoot('dist/types/src', `${name}.d.ts`), reached);
  for (const entry of readdirSync(inRoot('dist/types'), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !reached.has(path)) rmSync(path);
  }
}

function reachTypes(path, reached) {
  if (reached.has(path)) return;
  reached.add(path);
  for (const [, target] of readFileSync(path, 'utf8').matchAll(/(?:\bfrom |\bimport\()['"]([^'"]+)['"]/g)) {
    if (target.startsWith('.')) reachTypes(join(dirname(path), target.replace(/\.ts$/, '.d.ts')), reached);
    else if (!target.startsWith('node:'))
      throw new Error(`The types of the library need the package ${target}, which is bundled: ${relative(root, path)}`);
  }
}
