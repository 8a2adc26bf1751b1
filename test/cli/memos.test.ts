/** Memos and what else all sessions share: the commands, their races, and what the next request says. */
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;

beforeEach(async () => {
  project = await openMemoryTeddy();
});

afterEach(() => project.close());

const stored = () => project.repo.git('show', 'teddy/global:memos.yaml');
const request = (session: string) => project.ok('session', 'plan', '-s', session, '-m', 'x', '--dry-run');

function planWithMemo(fact: string): string {
  return `# Say\n\n## Memos\n- [+] ${fact}\n\n## Action Plan\n\n${createAction('a.txt', 'a\n')}`;
}

describe('teddy memo', () => {
  test('adds, lists and removes facts; what is there or is not is said', async () => {
    expect(await project.ok('memo', 'add', '  Use pnpm: always \n')).toBe('Remembered: Use pnpm: always\n');
    expect(await project.ok('memo', 'add', 'Use pnpm: always')).toBe('Already a memo: Use pnpm: always\n');
    await project.ok('memo', 'add', 'Two\nlines');
    await project.ok('memo', 'add', '--', '-O2 breaks it');
    expect(await project.ok('memo', 'list')).toBe('1  Use pnpm: always\n2  Two\n   lines\n3  -O2 breaks it\n');
    expect(JSON.parse(await project.ok('memo', 'list', '--json'))).toEqual({
      schema: 'teddy.memo-list/1',
      memos: ['Use pnpm: always', 'Two\nlines', '-O2 breaks it'],
      proposed: [],
    });
    expect(await project.ok('memo', 'remove', '2')).toBe('Forgotten: Two\nlines\n');
    expect(await project.ok('memo', 'remove', 'Use pnpm: always')).toBe('Forgotten: Use pnpm: always\n');
    expect(await stored()).toBe('- -O2 breaks it');
    for (const wanted of ['2', '0', 'Use pnpm']) await project.refuses('UNKNOWN_MEMO', 2, ['memo', 'remove', wanted]);
    await project.refuses('USAGE', 2, ['memo', 'add', ' \n']);
  });

  test('keeps comments and order, and no branch but teddy/global and no file moves', async () => {
    const session = await project.begin('quiet');
    await project.repo.write('.teddy/memos.yaml', '# Tools\n- pnpm # since May\n\n# Style\n- tabs\n');
    await project.plan(planOf(createAction('a.txt', 'a\n')));
    const before = await project.repo.fingerprint();
    await project.ok('memo', 'add', 'small steps');
    await project.ok('memo', 'remove', 'tabs');
    expect(await stored()).toBe('# Tools\n- pnpm # since May\n\n# Style\n- small steps');
    const after = await project.repo.fingerprint();
    const others = (refs: string[]) => refs.filter((ref) => !ref.includes('teddy/global'));
    expect({ ...after, refs: others(after.refs) }).toEqual({ ...before, refs: others(before.refs) });
    await project.ok('session', 'execute', '-y');
    await project.plan(planOf(createAction('b.txt', 'b\n')), 'next');
    expect(await project.repo.read('.teddy/memos.yaml')).toContain('- small steps');
    expect(await project.repo.git('show', `teddy/${session}:.teddy/memos.yaml`)).toBe(await stored());
  });

  test('of four commands that add at once none is lost', async () => {
    await project.ok('init', '--yes', '--only', 'global');
    const facts = Array.from({ length: 4 }, (_, at) => `Fact number ${at}`);
    await Promise.all(facts.map((fact) => project.ok('memo', 'add', fact)));
    const { memos } = JSON.parse(await project.ok('memo', 'list', '--json')) as { memos: string[] };
    expect(memos.toSorted()).toEqual(facts);
  });
});

describe('a memo of one session', () => {
  test('is in the next request of another, by command and by plan', async () => {
    const first = await project.begin('first');
    const second = await project.begin('second', '--no-switch');
    await project.ok('memo', 'add', 'By command.');
    expect(await request(second)).toContain('- By command.');
    await project.plan(planWithMemo('By plan.'));
    await project.ok('session', 'execute', '-y', '--memos=yes');
    expect(await request(second)).toContain('- By command.\n- By plan.');
    expect(await request(first)).toContain('- By plan.');
  });
});

describe('teddy global', () => {
  test('edit refuses files that are not there to edit, and names that are none', async () => {
    await project.ok('init', '--yes', '--only', 'global');
    await project.refuses('USAGE', 2, ['global', 'edit', 'notes.txt']);
    await project.refuses('USAGE', 2, ['global', 'edit', '../memos.yaml']);
    await project.refuses('USAGE', 2, ['global', 'edit', 'agents/../memos.yaml']);
    await project.refuses('BAD_NAME', 2, ['global', 'edit', 'agents/My Agent.md']);
  });

  test('and memo alone print what there is and exit 0', async () => {
    for (const name of ['memo', 'global']) {
      for (const args of [[name], [name, '--help']]) {
        const { exitCode, stdout, stderr } = await project.run(args, { cwd: '/' });
        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
        expect(stdout).toMatch(new RegExp(`^teddy ${name}: `));
        expect(stdout.split('\n').filter((line) => line.length > 120)).toEqual([]);
      }
      expect((await project.run([name, 'frob'])).stderr).toContain(
        `There is no command \`teddy ${name} frob\`. [USAGE]`,
      );
    }
  });
});
