/**
 * Repositories with sessions of every kind, as people and programs make them: plans, conversations, large files, imports, each
 * captured agent, branches, and sessions that were undone, landed, archived, judged, interrupted or broken on purpose.
 *
 *   const zoo = await makeZoo(teddyPath, directory);
 *   // zoo.repositories: read them with any executable
 *   await zoo.close();
 *
 * A model on loopback answers. Ids and times differ from run to run: two executables are compared on the same zoo.
 */
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startModelServer, type ServerAnswer } from '../support/model-server.ts';

export interface Zoo {
  repositories: { name: string; root: string }[];
  /** For every command that reads the zoo. */
  env: Record<string, string>;
  close(): Promise<void>;
}

// The bundle is in dist/.
const fixtures = fileURLToPath(new URL('../fixtures', import.meta.url));

const plan = (...actions: string[]) =>
  `# Try it\n\n## Rationale\n\nBecause.\n\n## Action Plan\n\n${actions.join('\n')}`;
const create = (path: string, content: string) =>
  `### \`CREATE\`\n- **File Path:** ${path}\n- **Description:** make it\n\n\`\`\`\`text\n${content}\`\`\`\`\n`;
const edit = (path: string, find: string, replace: string) =>
  `### EDIT\n- File Path: ${path}\n\n#### FIND:\n\`\`\`\n${find}\n\`\`\`\n\n#### REPLACE:\n\`\`\`\n${replace}\n\`\`\`\n`;
const command = (script: string) => `### EXECUTE\n- Description: run it\n\n\`\`\`sh\n${script}\n\`\`\`\n`;
const call = (name: string, input: object, text = ''): ServerAnswer => ({
  text,
  toolCalls: [{ name, arguments: JSON.stringify(input) }],
  usage: { prompt_tokens: 10, completion_tokens: 5 },
});
const secret = `ghp_${'x7Kq'.repeat(9)}`;

/** The answers to the requests of `talk`, in their order. */
const answers: ServerAnswer[] = [
  plan(create('asked.txt', 'asked\n'), edit('src/app.ts', '8080', '9090')),
  'It makes a file, and changes the port.',
  call('read_file', { path: 'src/app.ts' }, 'I look at it.'),
  'It is 9090.',
  call('write_file', { path: 'chat.txt', content: 'from a talk\n', description: 'a note' }),
  call('run_command', { command: 'echo hi; exit 3' }),
  { text: 'Done, but the command failed.', reasoning: 'What now?' },
  { cutAfter: 2, text: 'An answer that is cut off in the middle of a sentence.' },
];

/** Throws with the complete output if a step in the script fails. */
export async function makeZoo(teddyPath: string, directory: string): Promise<Zoo> {
  const server = await startModelServer({ answers });
  const home = join(directory, 'home');
  const own = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^(?:GIT_|TEDDY_|OPENAI_|XDG_|CLAUDE|CODEX|NODE_EXTRA_CA_CERTS$)/i.test(entry[0]),
  );
  const env = {
    ...Object.fromEntries(own),
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
    OPENAI_API_KEY: 'no-key-is-needed-here',
    OPENAI_BASE_URL: server.url,
    NO_PROXY: '127.0.0.1',
  };
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ada Example\n\temail = ada@example.org\n');
  const step = openSteps(teddyPath, env);
  const shop = join(directory, 'shop');
  step.makeRepository(shop);
  await makeOwn(step, shop);
  await makeTalk(step, shop);
  await makeForeign(step, shop, directory);
  await makeHostile(step, shop);
  await makeInterrupted(step, shop);
  const captured = join(directory, 'captured');
  step.makeRepository(captured);
  await makeCaptured(step, captured, home);
  const clone = join(directory, 'clone');
  step.git(directory, 'clone', '-q', shop, clone);
  const shallow = join(directory, 'shallow');
  step.git(directory, 'clone', '-q', '--depth', '3', '--no-single-branch', `file://${shop}`, shallow);
  return {
    repositories: Object.entries({ shop, captured, clone, shallow }).map(([name, root]) => ({ name, root })),
    env,
    close: () => server.close(),
  };
}

type Steps = ReturnType<typeof openSteps>;

function openSteps(teddyPath: string, env: Record<string, string>) {
  const run = (program: string, cwd: string, args: string[], input = '', codes = [0]): Promise<string> =>
    new Promise((resolve, reject) => {
      const child = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
      let [stdout, stderr] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
      child.stdin.on('error', () => undefined);
      child.stdin.end(input);
      child.on('error', reject);
      child.on('close', (code) => {
        if (codes.includes(code ?? -1)) resolve(stdout);
        else reject(new Error(`${args.join(' ')} ended with ${code}.\n${stdout}\n${stderr}`));
      });
    });
  const teddy = (cwd: string, args: string[], input?: string, codes?: number[]) =>
    run(process.execPath, cwd, [teddyPath, ...args], input, codes);
  const git = (cwd: string, ...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync('git', args, { cwd, env, encoding: 'utf8' });
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  };
  return {
    teddy,
    git,
    makeRepository(root: string): void {
      mkdirSync(join(root, 'src'), { recursive: true });
      git(root, 'init', '-q', '-b', 'main');
      git(root, 'config', 'teddy.model', 'gpt-test');
      writeFileSync(join(root, 'README.md'), '# Shop\n');
      writeFileSync(join(root, 'src/app.ts'), 'export const port = 8080;\n');
      git(root, 'add', '.');
      git(root, 'commit', '-qm', 'First commit');
    },
    /** Begins a session on main. */
    async begin(root: string, name: string): Promise<void> {
      git(root, 'switch', '-q', 'main');
      await teddy(root, ['new', name]);
    },
    plan: (root: string, message: string, answer: string, ...more: string[]) =>
      teddy(root, ['plan', '--from', '-', '-m', message, ...more], answer),
    /** The plan may fail, or be denied in part. */
    execute: (root: string) => teddy(root, ['execute', '-y'], '', [0, 1, 3, 5]),
  };
}

/** Sessions of plans: run, failed, refused, undone, branched, judged, landed, archived. */
async function makeOwn(step: Steps, root: string): Promise<void> {
  await step.begin(root, 'ran');
  await step.plan(
    root,
    'Make a\n\nAnd say why.',
    plan(create('a.txt', 'a\nb\nc\n'), command('echo out; echo err >&2')),
  );
  await step.execute(root);
  await step.plan(root, 'Change a', plan(edit('a.txt', 'b', 'B'), create('b.txt', 'b\n')));
  await step.execute(root);
  await step.plan(root, 'Fail', plan(command('exit 7'), create('never.txt', 'never\n')));
  await step.execute(root);
  await step.plan(root, 'Something that is not there', plan(edit('none.txt', 'a', 'b')));
  await step.plan(root, 'Only talk', 'Only words, but no plan.\n', '--instead');
  await step.teddy(root, ['memo', 'add', 'The port is 8080.']);
  writeFileSync(join(root, 'mine.txt'), 'mine\n');
  step.git(root, 'add', 'mine.txt');
  step.git(root, 'commit', '-qm', 'A commit of my own');
  await step.teddy(root, ['session', 'undo', '02']);
  await step.teddy(root, ['session', 'branch', '02']);
  await step.plan(root, 'Another way', plan(create('other.txt', 'other\n')));
  await step.execute(root);

  await step.begin(root, 'judged');
  await step.plan(root, 'To be judged', plan(create('judged.txt', 'judged\n')));
  await step.teddy(root, ['approve', '-m', 'Good.']);
  await step.execute(root);
  await step.plan(root, 'To be rejected', plan(create('rejected.txt', 'rejected\n')));
  await step.teddy(root, ['reject', '-m', 'No, since it is wrong.', '--comment', '1:Not this']);
  await step.plan(root, 'And this waits', plan(create('waits.txt', 'waits\n')));

  await step.begin(root, 'landed');
  await step.plan(root, 'Bring it', plan(create('brought.txt', 'brought\n')));
  await step.execute(root);
  await step.teddy(root, ['land']);

  await step.begin(root, 'archived');
  await step.plan(root, 'Put it away', plan(create('away.txt', 'away\n')));
  await step.execute(root);
  step.git(root, 'switch', '-q', 'main');
  await step.teddy(root, ['session', 'archive', 'archived']);
  await step.begin(root, 'empty');
}

/** Questions, a conversation with tools, spoken words, a large file, an interrupted answer. */
async function makeTalk(step: Steps, root: string): Promise<void> {
  step.git(root, 'stash', '-qu');
  await step.begin(root, 'talk');
  await step.teddy(root, ['plan', '-m', 'Ask the model']);
  await step.teddy(root, ['ask', 'What does it do?']);
  await step.execute(root);
  await step.teddy(root, ['chat', '-m', 'Which port?']);
  await step.teddy(root, ['chat', '-y', '-m', 'Write it down, and run it'], '', [0, 4]);
  await step.teddy(root, ['session', 'say', '-m', 'Spoken by the user']);
  await step.teddy(root, ['chat', '-m', 'Be cut off'], '', [0, 1, 5]);
  await step.teddy(
    root,
    ['write', 'stream', '--target', 'docs/large.md', '--operation', 'create', '--intent', 'A large file'],
    `# Large\n\n${'A line of it.\n'.repeat(2000)}DONE\n`,
  );
}

/** Conversations that other programs logged. */
async function makeForeign(step: Steps, root: string, directory: string): Promise<void> {
  step.git(root, 'switch', '-q', 'main');
  for (const name of ['claude-code', 'codex', 'seed'])
    await step.teddy(root, ['session', 'import', join(fixtures, 'imports', `${name}.jsonl`)]);
  await step.teddy(root, ['session', 'import', join(fixtures, 'imports', 'openai.json'), '--name', 'openai']);
  const bundle = join(directory, 'ran.bundle');
  await step.teddy(root, ['session', 'export', '-s', 'ran', '--bundle', bundle]);
}

/** Long texts, control characters, secrets, a damaged transcript, an empty turn, an invalid report. */
async function makeHostile(step: Steps, root: string): Promise<void> {
  await step.begin(root, 'hostile');
  await step.plan(
    root,
    `Look \u001b[2J\u202e at ${secret}\n\n${'A long line. '.repeat(5000)}`,
    'Words. '.repeat(60_000),
  );
  await step.plan(root, '`x` <script>alert(1)</script> & "q"', plan(create('<b>.txt', '\u0007bell\n')));
  await step.execute(root);
  const session = step.git(root, 'branch', '--show-current').replace('teddy/', '');
  const turns = join(root, '.teddy/sessions', session);
  appendFileSync(join(turns, '01/transcript.jsonl'), '{"type":"user","broken\n{"type":"unknown","a":1}\n');
  mkdirSync(join(turns, '07'), { recursive: true });
  writeFileSync(join(turns, '07/plan.md'), '# A plan that nobody gave\n');
  writeFileSync(join(turns, '07/report.md'), 'no: [report\n');
  step.git(root, 'add', '-A');
  step.git(root, 'commit', '-qm', 'Break it\n\nTeddy-Entry: nonsense\nTeddy-Session: ../..');
  step.git(root, 'switch', '-q', 'main');
}

/** A run that was killed in its second action: nothing else is begun in the repository after it. */
async function makeInterrupted(step: Steps, root: string): Promise<void> {
  await step.begin(root, 'cut-off');
  await step.plan(root, 'It is killed', plan(create('first.txt', 'first\n'), command('kill -9 $PPID; sleep 1')));
  await step.teddy(root, ['execute', '-y'], '', [-1, 137]);
}

/** One session of each agent, by a sweep over its logs. */
async function makeCaptured(step: Steps, root: string, home: string): Promise<void> {
  const dashed = root.replaceAll(/[^A-Za-z0-9]/g, '-');
  const lay = (from: string, to: string) => {
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, readFileSync(join(fixtures, 'agents', from), 'utf8').replaceAll('/home/ada/shop', root));
  };
  const id = '0190f5fe-0000-7000-8000-00000000abcd';
  lay('claude-code/2.1.330/session.jsonl', join(home, '.claude/projects', dashed, `${id}.jsonl`));
  lay('claude-code/2.1.330/plans.jsonl', join(home, '.claude/projects', dashed, `${id.replace('abcd', 'abce')}.jsonl`));
  const rollout = (one: string) => join(home, '.codex/sessions/2026/01/24', `rollout-2026-01-24T10-00-00-${one}.jsonl`);
  lay('codex/0.169.0/session.jsonl', rollout(id));
  lay('codex/0.169.0/plans.jsonl', rollout(id.replace('abcd', 'abce')));
  lay('gemini/0.61.0/session.jsonl', join(home, '.gemini/tmp/shop/chats/session-1.jsonl'));
  writeFileSync(join(home, '.gemini/tmp/shop/.project_root'), root);
  lay('copilot/1.0.102/session.jsonl', join(home, '.copilot/session-state', id, 'events.jsonl'));
  lay('qwen/0.15.10/session.jsonl', join(home, '.qwen/projects', dashed, 'chats', `${id}.jsonl`));
  lay('pi/0.73.1/session.jsonl', join(home, '.pi/agent/sessions', `-${dashed}-`, `2026-01-24_${id}.jsonl`));
  mkdirSync(join(root, '.git/teddy/spool'), { recursive: true });
  lay('opencode/1.18.33/session.jsonl', join(root, '.git/teddy/spool/opencode/ses_1.jsonl'));
  await step.teddy(root, ['capture', 'sweep', '--since', '3650d'], '', [0, 1]);
  cpSync(join(root, '.git'), join(root, '../captured-before'), { recursive: true });
}
