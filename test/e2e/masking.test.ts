import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { letters } from '../support/planted-secrets.ts';
import { teddyPath } from '../support/run-teddy.ts';
import {
  createAction,
  editAction,
  executeAction,
  openTeddyProject,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

const run = promisify(execFile);

/** By where each is planted. */
const secrets = {
  environment: `Zx9-${letters(24, 101)}`,
  dotenv: `q7!${letters(24, 102)}`,
  message: 'np' + `m_${letters(36, 103)}`,
  tracked: 'gh' + `p_${letters(36, 104)}`,
  ignored: 'shp' + `at_${letters(32, 105)}`,
  memo: 'lin' + `_api_${letters(40, 106)}`,
  keyBody: letters(64, 107),
};
const key = [
  '-----BEGIN PRIVATE' + ' KEY-----',
  `MI${letters(62, 108)}`,
  secrets.keyBody,
  '-----END PRIVATE' + ' KEY-----',
];

interface StoredObject {
  oid: string;
  type: string;
  text: string;
}

/** Every object of the repository, reachable or not. */
async function readObjects(root: string): Promise<StoredObject[]> {
  const args = ['cat-file', '--batch-all-objects', '--batch', '--buffer'];
  const { stdout } = await run('git', args, { cwd: root, encoding: 'latin1', maxBuffer: 2 ** 28 });
  const objects: StoredObject[] = [];
  for (let at = 0; at < stdout.length;) {
    const newline = stdout.indexOf('\n', at);
    const [oid = '', type = '', size = '0'] = stdout.slice(at, newline).split(' ');
    objects.push({ oid, type, text: stdout.slice(newline + 1, newline + 1 + Number(size)) });
    at = newline + 1 + Number(size) + 1;
  }
  return objects;
}

async function readFilesBelow(dir: string): Promise<{ path: string; text: string }[]> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(files.map(async (path) => ({ path, text: await readFile(path, 'latin1') })));
}

function secretsIn(text: string): string[] {
  return Object.entries(secrets)
    .filter(([, secret]) => text.includes(secret))
    .map(([place]) => place);
}

describe('planted secrets', () => {
  let project: TeddyProject;
  let shown: string;
  const env = { DEPLOY_TOKEN: secrets.environment };

  async function teddy(args: string[], stdin?: string): Promise<string> {
    const result = await project.run(args, { env, ...(stdin === undefined ? {} : { stdin }) });
    expect(result, args.join(' ')).toMatchObject({ exitCode: 0 });
    shown += result.stdout + result.stderr;
    return result.stdout;
  }

  beforeEach(async () => {
    shown = '';
    project = await openTeddyProject({
      files: {
        'README.md': '# Scratch\n',
        '.gitignore': 'local/\n.env\n',
        'src/config.ts': `export const token = '${secrets.tracked}';\nexport const port = 1;\n`,
      },
      answers: [
        planOf(
          createAction('a.txt', 'A\n'),
          executeAction(
            'echo "token $DEPLOY_TOKEN"; cat src/config.ts local/notes.txt .env; printf "%s" "$DEPLOY_TOKEN" >&2',
          ),
          executeAction('cat local/key.txt; for i in $(seq 150); do echo "line $i $DEPLOY_TOKEN"; done'),
          executeAction('cat local/key.txt; seq 150; head -c 60 local/key.txt'),
          editAction('src/config.ts', 'export const port = 1;', 'export const port = 2;'),
        ),
        planOf(
          editAction('src/config.ts', "export const token = '[masked: github token]';", "export const token = '';"),
        ),
        'Nothing to do.',
      ],
    });
    await project.repo.write('.env', `# of this machine\nexport DB_PASSWORD="${secrets.dotenv}"\n`);
    await project.repo.write('local/notes.txt', `key: ${secrets.ignored}\n`);
    await project.repo.write('local/key.txt', `${key.join('\n')}\n`);
  });
  afterEach(() => project.close());

  test('reach no object, no file of teddy, no reflog, no request and no screen', async () => {
    const { repo } = project;
    const session = (await teddy(['session', 'new', 'try-it'])).trim().split('/').at(-1) ?? '';
    const memos = `- Deployments use ${secrets.memo}\n`;
    await repo.write('.teddy/memos.yaml', memos);
    await repo.write(`.teddy/sessions/${session}/session.context`, 'src/config.ts\nlocal/notes.txt\nlocal/key.txt\n');
    const message = `Deploy with ${secrets.message} and ${secrets.environment} to ${secrets.dotenv}`;
    await teddy(['session', 'plan', '-m', message, '--dry-run']);
    await teddy(['session', 'plan', '-m', message]);
    await teddy(['session', 'execute', '-y', '--memos=no']);
    await teddy(['session', 'plan', '-m', 'Set the token']);
    await project.run(['session', 'execute', '-y'], { env }).then(({ stdout, stderr, exitCode }) => {
      expect(exitCode).toBe(1);
      shown += stdout + stderr;
    });
    await teddy(['session', 'plan', '-m', 'And now?']);
    for (const read of ['log', 'show', 'list']) await teddy(['session', read]);
    // Its diff shows the user's own file as it is committed, as `git show` does.
    const { diff, ...rest } = JSON.parse((await project.run(['session', 'show', '01', '--json'])).stdout) as {
      diff: string;
    };
    expect(diff).toContain('+export const port = 2;');
    shown += JSON.stringify(rest);

    // The work was done, and with the secrets: otherwise there would be nothing to find.
    const requests = JSON.stringify(project.server.requests().map(({ messages }) => messages));
    for (const kind of [
      'npm token',
      'env DEPLOY_TOKEN',
      'env DB_PASSWORD',
      'github token',
      'shopify key',
      'linear key',
      'private key',
    ]) {
      expect(requests, kind).toContain(`[masked: ${kind}]`);
    }
    expect(project.server.requests()).toHaveLength(3);
    const log = await repo.read(`.teddy/sessions/${session}/01/output/3.log`);
    expect(log).toContain('line 1 [masked: env DEPLOY_TOKEN]\n');
    expect(shown).toContain('line 150 [masked: env DEPLOY_TOKEN]');
    expect(shown).toContain('3 secrets in your message were masked.');

    expect(secretsIn(requests)).toEqual([]);
    expect(secretsIn(shown)).toEqual([]);
    // The user's own files are theirs: kept byte for byte, where they were committed.
    const own = [memos, `export const token = '${secrets.tracked}';\nexport const port = 1;\n`];
    const objects = (await readObjects(repo.root)).filter(
      ({ text }) => !own.includes(text) && text !== own[1]?.replace('port = 1', 'port = 2'),
    );
    expect(objects.length).toBeGreaterThan(20);
    expect(objects.filter(({ text }) => secretsIn(text).length > 0)).toEqual([]);
    const files = [
      ...(await readFilesBelow(join(repo.root, '.git/teddy'))),
      ...(await readFilesBelow(join(repo.root, '.git/logs'))),
      ...(await readFilesBelow(join(repo.root, '.teddy/sessions'))),
    ];
    expect(files.length).toBeGreaterThan(5);
    expect(files.filter(({ text }) => secretsIn(text).length > 0)).toEqual([]);
  });
});

test('the executable does not carry the library that one rule of the preset reads certificates with', async () => {
  const bundle = await readFile(new URL('cli.cjs', pathToFileURL(teddyPath)), 'utf8');
  expect(bundle).toContain('secretlint-rule-github');
  expect(bundle).not.toContain('Cannot read PKCS#12 PFX');
});
