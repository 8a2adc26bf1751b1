/** Collects the licenses of the packages whose code is in the bundles. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Packages published without their license text, with the versions that somebody has checked. */
const withoutText = {
  '@bomb.sh/tab 0.0.22': { license: 'MIT', holder: 'Bombshell Authors' },
  '@hono/zod-validator 0.9.1': { license: 'MIT', holder: 'Yusuke Wada' },
  '@hono/zod-openapi 1.6.3': { license: 'MIT', holder: 'Yusuke Wada' },
};

const mit = (holder) => `Copyright (c) ${holder}

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`;

/** Throws when a package has no license text, because its code must not be distributed then. */
export function renderLicenses(root, metafiles) {
  const packages = new Map();
  for (const path of metafiles.flatMap(listBundled)) {
    const [directory] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
    if (directory !== undefined) packages.set(directory, [...(packages.get(directory) ?? []), join(root, path)]);
  }
  const parts = groupByTerms(
    [...packages].toSorted().map(([directory, files]) => readPackage(join(root, directory), files)),
  );
  return `${['teddy contains code of these packages.\n', ...parts].join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/** Groups packages under the same terms, which share one copy of the terms below all their names and copyright notices. */
function groupByTerms(packages) {
  const groups = new Map();
  for (const { title, text, notices } of packages) {
    const at = Math.max(
      text.search(/Permission is hereby granted|^\s*Apache License\s+Version|Redistribution and use/m),
      0,
    );
    const [head, terms] = [text.slice(0, at).trim(), text.slice(at).trim()];
    const key = terms.replaceAll(/\s+/g, ' ');
    const { names = [] } = groups.get(key) ?? {};
    names.push(`${title}\n${head === '' ? '' : `\n${head}\n`}${notices}`);
    groups.set(key, { names, terms });
  }
  return [...groups.values()].map(({ names, terms }) => `${names.join('\n')}\n${terms}\n`);
}

/** Returns the files that contribute code to a bundle. */
function listBundled({ outputs }) {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput === 0 ? [] : [path]));
}

function readPackage(directory, files) {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const text = readLicense(directory, { name, version, license });
  return { title: `${name} ${version}, ${license}`, text, notices: findNotices(files) };
}

function readLicense(directory, { name, version, license }) {
  const names = readdirSync(directory);
  const read = (file) => readFileSync(join(directory, file), 'utf8');
  const files = names.filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file));
  const texts = files.map((file) => read(file).trim()).filter((text) => text !== '');
  if (texts.length > 0) return texts.join('\n\n');
  // Some packages have the license as the last section of their README.
  const readme = names.filter((file) => /^readme\.md$/i.test(file)).map(read);
  const [section] = readme.flatMap(
    (text) => /^#+ Licen[cs]e\b[^]*Permission is hereby granted[^]*$/im.exec(text) ?? [],
  );
  if (section !== undefined) return section.replaceAll(/^(?:#+|>) ?/gm, '').trim();
  const known = withoutText[`${name} ${version}`];
  if (known === undefined || known.license !== license)
    throw new Error(`${name} ${version} (${license}) has no licence text: see ${directory}, and scripts/licenses.mjs.`);
  return `It comes without the text of its licence; its package.json says ${license}.\n\n${mit(known.holder)}`;
}

/** Finds comments in which a package names its sources, because the bundle does not keep comments. */
function findNotices(files) {
  const comments = files.flatMap((file) => readFileSync(file, 'utf8').match(/\/\*(?:(?!\*\/)[^])*\*\//g) ?? []);
  const notices = new Set(comments.filter((comment) => /@license|\bcopyright \S/i.test(comment)));
  return [...notices].map((notice) => `\n${notice.replaceAll(/^\s*\/?\*+(?: |\/?$)/gm, '').trim()}\n`).join('');
}
