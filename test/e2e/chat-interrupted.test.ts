/** A `teddy chat` that was killed while a command of its model ran. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { endGroup, killChat, runningInGroup, waitHere } from '../support/interrupted-run.ts';
import type { ServerAnswer } from '../support/model-server.ts';
import { openBegun, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

const memos = '.teddy/memos.yaml';
const evil = `printf -- '- "evil fact"\n' > ${memos}; echo '**' >> .teddy/global.context; echo made > made.txt; ${waitHere}`;
const notesDir = () => join(project.repo.root, '.git', 'teddy', 'journal');
const listNotes = async () => (await readdir(notesDir())).filter((name) => name.startsWith('command-'));

function call(command: string): ServerAnswer {
  return { text: '', toolCalls: [{ name: 'run_command', arguments: JSON.stringify({ command }) }] };
}

/** The group of its command, which still runs. */
async function openKilled(...answers: ServerAnswer[]): Promise<number> {
  const files = { 'README.md': '# Scratch\n' };
  ({ project } = await openBegun('killed', { files, answers: [call(evil), ...answers] }));
  return killChat(project, '-m', 'Do it');
}

const goOn: [string, string[]][] = [
  ['chat', ['session', 'chat', '-m', 'Go on']],
  ['plan', ['session', 'plan', '-m', 'Go on']],
  ['execute', ['session', 'execute', '-y']],
  ['say', ['session', 'say', '-m', 'And this']],
  ['write', ['write', 'stream', '--target', 'b.txt', '--operation', 'create']],
  ['resume', ['session', 'resume', '-y']],
  ['new', ['session', 'new', 'other']],
];

test('everything on the line is refused while the command still runs, and nothing changes', async () => {
  const group = await openKilled();
  try {
    for (const [, args] of goOn) {
      const said = await project.refuses('LOCKED', 3, args, { stdin: 'x\nDONE\n' });
      expect(said).toContain(`A command in turn 01 is still running (process group ${group}); the conversation`);
      expect(said).toContain(`kill -- -${group}`);
    }
    expect(await runningInGroup(group)).not.toEqual([]);
    expect(await project.repo.read(memos)).toBe('- "evil fact"\n');
  } finally {
    await endGroup(group);
  }
});

test.each(goOn.filter(([name]) => ['chat', 'execute', 'new'].includes(name)))(
  'what it wrote in .teddy/ is put back before %s does anything',
  async (_, args) => {
    await endGroup(await openKilled('Fine.', 'Fine.'));
    const names = await listNotes();
    expect(names).toEqual([expect.stringMatching(/^command-[0-9a-f]{16}\.json$/)]);
    expect((await stat(notesDir())).mode & 0o777).toBe(0o700);
    for (const name of names) expect((await stat(join(notesDir(), name))).mode & 0o777).toBe(0o600);
    const global = await project.repo.git('rev-parse', 'teddy/global');
    const { stderr } = await project.run(args, { stdin: 'x\nDONE\n' });
    expect(stderr.match(/Commands may not change \.teddy\//g)).toHaveLength(1);
    expect(stderr).toMatch(/An interrupted command, or you since then, changed \.teddy\/\S+/);
    const [, tree = ''] = /git show ([0-9a-f]{40}):<path>/.exec(stderr) ?? [];
    expect(await project.repo.git('show', `${tree}:${memos}`)).toBe('- "evil fact"');
    expect(await project.repo.read(memos)).toBe('');
    expect(await project.repo.read('.teddy/global.context')).not.toContain('**\n');
    expect(await project.repo.read('made.txt')).toBe('made\n');
    expect(await project.repo.git('rev-parse', 'teddy/global')).toBe(global);
    expect(await project.repo.git('log', '--all', '--format=%s', '--', memos)).not.toContain('snapshot');
    expect(await listNotes()).toEqual([]);
  },
);
