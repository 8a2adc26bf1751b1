/** The built library, used from a directory of its own as another program uses it, and its types as tsc sees them there. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { checkHistory } from '../support/check-history.ts';
import { makeScratchRepository } from '../support/scratch-repository.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const program = `
import { appendWrite, beginWrite, finalizeWrite, openProject, readTranscript } from 'git-teddy';
import { renderAnthropic, renderJsonl, renderMarkdown, renderOpenai, type Finalized } from 'git-teddy';

const notices = { info: () => undefined, warn: () => undefined };
const project = await openProject({ cwd: process.argv[2] ?? '.', env: process.env, notices });
const begun = await beginWrite(project, { intent: 'try', target: 'a.txt', operation: 'create', hasController: false });
const { id } = begun.record;
await appendWrite(project, { id, offset: 0, bytes: new TextEncoder().encode('A\\n') });
const finalized: Finalized = await finalizeWrite(project, { id });
await project.repository.close();

const lines = [
  { type: 'user', message: { role: 'user', content: 'Look.' }, timestamp: '2026-02-21T10:00:00Z' },
  { type: 'tool_use', tool_call_id: 't', tool_name: 'read_file', tool_input: { path: 'a' } },
  { type: 'tool_result', tool_call_id: 't', output: 'A' },
];
const { records, history } = readTranscript(lines.map((line) => JSON.stringify(line)).join('\\n'));
const openai = renderOpenai(history);
console.log(JSON.stringify({
  isWritten: finalized.isWritten,
  records: records.length,
  roles: openai.map(({ role }) => role),
  openai,
  anthropic: renderAnthropic(history),
  lines: renderJsonl(history).split('\\n').length,
  heading: renderMarkdown(history).split('\\n')[0],
}));
`;

test('another program writes a file, reads a transcript and renders it, and its types are there', async () => {
  const repository = await makeScratchRepository();
  const dir = join(repository.root, '.git', 'program');
  mkdirSync(join(dir, 'node_modules', '@types'), { recursive: true });
  symlinkSync(root, join(dir, 'node_modules', 'git-teddy'));
  symlinkSync(join(root, 'node_modules/@types/node'), join(dir, 'node_modules/@types/node'));
  const source = program.replaceAll('\\\\', '\\');
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(dir, 'main.ts'), source);
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: { '.': { types: string } };
  };
  expect(readFileSync(join(root, exports['.'].types), 'utf8')).toContain('readTranscript');
  const options = [
    '--strict',
    '--skipLibCheck',
    '--target',
    'es2023',
    '--module',
    'nodenext',
    '--outDir',
    'out',
    '--types',
    'node',
  ];
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), 'main.ts', ...options], { cwd: dir });
  const printed = execFileSync(process.execPath, [join(dir, 'out', 'main.js'), repository.root], { encoding: 'utf8' });
  const { openai, anthropic, ...rest } = JSON.parse(printed) as Record<string, unknown>;
  expect([...checkHistory('openai', openai), ...checkHistory('anthropic', anthropic)]).toEqual([]);
  expect(rest).toEqual({
    isWritten: true,
    records: 3,
    roles: ['user', 'assistant', 'tool'],
    lines: 4,
    heading: '## User, 2026-02-21 10:00:00 UTC',
  });
  await repository.close();
});

test('the code of the commands says which file runs them, and does not end with 0', () => {
  const file = (name: string) => fileURLToPath(new URL(`../../dist/${name}`, import.meta.url));
  for (const args of [[], ['status']]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [file('cli.cjs'), ...args], { encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^error: .*run dist\/main\.cjs.* \[USAGE\]\n$/);
  }
  for (const name of ['index.js', 'reader.js'])
    expect(spawnSync(process.execPath, [file(name)], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
});
