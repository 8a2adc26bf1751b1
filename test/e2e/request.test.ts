/** A request leaves the machine as `_context.log` has it: masked, within the budget, byte for byte. */
import { createHash } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { parseContextLog } from '../../src/session/context/context-log-parse.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

// In parts, so that no scanner takes this file for a leak.
const token = ['ghp', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'].join('_');
const readLog = (session: string, turn: string) => project.repo.read(`.teddy/sessions/${session}/${turn}/_context.log`);

test('secrets are masked and old turns left out, and the model gets exactly the bytes of _context.log', async () => {
  project = await openTeddyProject({
    answers: ['Understood: ü.', 'Understood again.'],
    files: { 'README.md': `# Ünï\r\n\ntoken = "${token}"\n`, 'src/a b.ts': 'export {};\n' },
  });
  const session = await project.begin('exact');
  for (const number of [1, 2, 3]) {
    await project.plan(createPlan(`made-${number}.txt`, `${`line ${number}\n`.repeat(40)}`), `Make file ${number}`);
    await project.ok('session', 'execute', '-y');
  }
  const whole = parseContextLog(await project.ok('session', 'plan', '-m', 'What now?', '--dry-run'));
  await project.repo.git('config', 'teddy.contextTokens', String(whole.frontMatter.tokens - 100));
  const preview = await project.ok('session', 'plan', '-m', 'What now?', '--dry-run');
  const planned = await project.run(['session', 'plan', '-m', 'What now?']);
  expect(planned).toMatchObject({ exitCode: 0 });
  expect(planned.stderr).toContain('Left out to fit the budget: turns 01-02.');

  const log = await readLog(session, '04');
  expect(log).toBe(preview);
  const { messages, sections, frontMatter } = parseContextLog(log);
  const [request] = project.server.requests();
  expect(request?.messages).toEqual(messages);
  expect(log.endsWith(`${request?.messages[0]?.content}${request?.messages[1]?.content}`)).toBe(true);
  expect(JSON.stringify(project.server.requests())).not.toContain(token);
  expect(log).not.toContain(token);
  expect(frontMatter.tokens).toBeLessThanOrEqual(whole.frontMatter.tokens - 100);
  expect(frontMatter.masked).toBe(1);

  const readme = sections.find(({ path }) => path === 'README.md');
  const blob = (await project.repo.git('rev-parse', 'HEAD:README.md')).trim();
  expect(readme?.provenance).toEqual({ kind: 'shown', source: { kind: 'blob', oid: blob }, lossy: false, masked: 1 });
  expect(readme?.body).toMatch(/token = "\[masked: [^\]]+\]"/);
  const history = sections.find(({ name }) => name === 'history')?.body ?? '';
  expect(history.startsWith('Left out to fit the budget: turns 01-02.\n\n## Turn 03\n')).toBe(true);
  expect(history).not.toContain('Make file 1');
  const [commit = ''] = (await project.repo.git('log', '--format=%H', '--grep', '^Teddy-Entry: message', '-1')).split(
    '\n',
  );
  const sha = await project.repo.git('log', '-1', '--format=%(trailers:key=Teddy-Sha256,valueonly)', commit);
  expect(sha.trim()).toBe(createHash('sha256').update(log).digest('hex'));
});

test('a request over its budget costs neither a call nor an entry, and goes out once a file is taken away', async () => {
  project = await openTeddyProject({
    answers: ['Better.'],
    files: { 'README.md': '# Small\n', 'big.txt': 'word '.repeat(20_000) },
  });
  const session = await project.begin('large');
  const list = `.teddy/sessions/${session}/session.context`;
  await project.repo.write(list, 'big.txt\n');
  await project.repo.git('commit', '-qam', 'Show the big file');
  await project.repo.git('config', 'teddy.contextTokens', '12000');
  const refused = await project.refuses('CONTEXT_TOO_LARGE', 3, ['session', 'plan', '-m', 'Shorten it']);
  expect(refused).toMatch(
    /about [\d,]+ tokens, and its budget is 12,000; nothing was sent or recorded\. The largest: big\.txt \([\d,]+\)/,
  );
  expect(refused).toContain(list);
  expect(project.server.requests()).toHaveLength(0);
  await project.repo.write(list, 'big.txt\n!big.txt\n');
  await project.ok('session', 'plan', '-m', 'Shorten it');
  expect(project.server.requests()).toHaveLength(1);
  expect(await readLog(session, '01')).not.toContain('word word');
});

test('--dry-run prints what the next turn sends, with every kind of edit, and moves no branch', async () => {
  project = await openTeddyProject({ answers: ['Seen.'], files: { 'README.md': '# Before\n', 'src/app.ts': 'app\n' } });
  const session = await project.begin('edited');
  await project.ok('memo', 'add', 'Known before.');
  await project.repo.write('README.md', '# After\n');
  await project.repo.write(`.teddy/sessions/${session}/session.context`, 'src\n');
  await project.repo.write('.teddy/memos.yaml', '- Edited by hand.\n');
  await project.repo.write('.teddy/global.context', 'README.md\n!src/app.ts\n');
  const before = await project.repo.fingerprint();
  const preview = await project.run(['session', 'plan', '-m', 'Look', '--dry-run']);
  expect(preview).toMatchObject({ exitCode: 0 });
  expect(preview.stderr).toContain('Your edits of 4 files are included; `teddy session plan` commits them first.');
  expect(await project.repo.fingerprint()).toEqual(before);
  await project.ok('session', 'plan', '-m', 'Look');
  const log = await readLog(session, '01');
  expect(log).toContain('# After');
  expect(log).toContain('- Edited by hand.');
  expect(log).toContain('- Known before.');
  expect(preview.stdout).toBe(log);
  expect((await project.run(['session', 'plan', '-m', 'More', '--dry-run'])).stderr).not.toContain('counted in');
});
