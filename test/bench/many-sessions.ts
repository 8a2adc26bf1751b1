/**
 * A repository with as many sessions as an organisation has. One session is recorded by teddy itself, with a plan that
 * ran; the others are copies under other names, with the matching trees: start, message, plan and report.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { assembleLog } from '../../src/session/context/context-log.ts';
import { parseContextLog } from '../../src/session/context/context-log-parse.ts';
import type { SessionId } from '../../src/names.ts';
import { sha256 } from '../../src/system/ids.ts';
import { runProcess } from './measure.ts';
import { executable, git, keepForRemoval, makeRepository } from './repositories.ts';

type Env = NodeJS.ProcessEnv;

const plan = '# Add a file\n\n## Action Plan\n\n### CREATE\n- **File Path:** made/file.txt\n\n```\nnew\n```\n';

/** The commit for each step of the recorded session, oldest first, with its additions. */
interface Step {
  message: string;
  files: { path: string; text: string }[];
}

/**
 * HEAD is on `main`. Of ten sessions, one has not begun its first turn, one has a waiting plan, and eight have run
 * theirs.
 */
export async function makeManySessions(env: Env, count: number): Promise<string> {
  const root = makeRepository(env, 20);
  const file = join(mkdtempSync(join(tmpdir(), 'teddy-bench-plan-')), 'plan.md');
  keepForRemoval(join(file, '..'));
  writeFileSync(file, plan);
  const teddy = (...args: string[]) => runProcess(process.execPath, [executable, ...args], root, env);
  teddy('session', 'plan', '-m', 'Add a file', '--from', file);
  teddy('session', 'execute', '-y');
  const recorded = git(root, env, ['symbolic-ref', '--short', 'HEAD']).slice('teddy/'.length);
  const steps = readSteps(root, env);
  git(root, env, ['switch', '-q', 'main']);
  await importSessions(root, env, recorded, steps, count);
  git(root, env, ['pack-refs', '--all']);
  return root;
}

/** `20260105-session-000004`: a day from January to October. */
export function nameSession(at: number): string {
  const [month, day] = [1 + (Math.floor(at / 28) % 10), 1 + (at % 28)];
  return `2026${String(month).padStart(2, '0')}${String(day).padStart(2, '0')}-session-${String(at).padStart(6, '0')}`;
}

function readSteps(root: string, env: Env): Step[] {
  const commits = git(root, env, ['rev-list', '--reverse', 'main..HEAD']).split('\n');
  return commits.map((commit) => {
    const message = `${git(root, env, ['log', '-1', '--format=%B', commit])}\n`;
    const paths = git(root, env, ['diff-tree', '--root', '-r', '--name-only', '--no-commit-id', commit]);
    const read = (path: string) => {
      const { stdout } = spawnSync('git', ['cat-file', 'blob', `${commit}:${path}`], { cwd: root, env });
      return stdout.toString();
    };
    const files = paths.split('\n').map((path) => ({ path, text: read(path) }));
    return { message, files };
  });
}

async function importSessions(root: string, env: Env, recorded: string, steps: Step[], count: number): Promise<void> {
  const args = ['-c', 'core.fsync=none', 'fast-import', '--quiet'];
  const importer = spawn('git', args, { cwd: root, env, stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = once(importer, 'close');
  const main = git(root, env, ['rev-parse', 'main']);
  for (let at = 0; at < count; at += 1) {
    const session = nameSession(at);
    const made = at % 10 === 0 ? 1 : at % 10 === 1 ? steps.length - 1 : steps.length;
    const hashes = new Map<string, string>();
    const text = steps
      .slice(0, made)
      .map((step, number) => renderStep(step, { at, number, session, recorded, main, hashes }))
      .join('');
    if (!importer.stdin.write(text)) await once(importer.stdin, 'drain');
  }
  importer.stdin.end();
  const [code] = (await ended) as [number];
  if (code !== 0) throw new Error(`git fast-import ended with ${code}.`);
}

/** The model's request, in another session's name. */
function renameLog(log: string, session: SessionId, rename: (text: string) => string): string {
  const { frontMatter, sections } = parseContextLog(log);
  const { mode: _mode, tokens: _tokens, masked: _masked, boundary: _boundary, digest: _digest, ...info } = frontMatter;
  const renamed = sections.map((section) => ({ ...section, body: rename(section.body) }));
  return assembleLog({ ...info, session }, renamed, sha256).log;
}

function withHashes(text: string, hashes: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\b[0-9a-f]{64}\b/g, (hash) => hashes.get(hash) ?? hash);
}

interface Place {
  at: number;
  number: number;
  session: string;
  recorded: string;
  main: string;
  /** Hashes of the recorded session's files, each with that of its replacement. */
  hashes: Map<string, string>;
}

function renderStep({ message, files }: Step, { at, number, session, recorded, main, hashes }: Place): string {
  const date = `${session.slice(0, 4)}-${session.slice(4, 6)}-${session.slice(6, 8)}T08:00:00.000Z`;
  const timeMs = Date.parse(date) + at * 1000 + number * 60_000;
  const id = `${timeMs.toString(16).padStart(12, '0')}`;
  const [unique, title] = [(4 * at + number).toString(16).padStart(12, '0'), `Add a file for ${at}`];
  const rename = (text: string) =>
    text
      .replaceAll(recorded, session)
      .replaceAll('Add a file', title)
      .replace(/(Teddy-Entry-Id: )\S+/, `$1${id.slice(0, 8)}-${id.slice(8)}-7000-8000-${unique}`)
      .replace(/(Teddy-Created: )\S+/, `$1${date}`);
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const written = files.map(({ path, text }) => ({
    path: rename(path),
    before: sha256(text),
    text: path.endsWith('_context.log') ? renameLog(text, session as SessionId, rename) : rename(text),
  }));
  // The label and the report name files by their hashes.
  for (const file of written) {
    hashes.set(file.before, sha256(file.text));
    if (file.path.endsWith('report.md')) file.text = withHashes(file.text, hashes);
    hashes.set(file.before, sha256(file.text));
  }
  const blobs = written.map(({ path, text }) => `M 100644 inline ${path}\n${data(text)}`);
  const ident = `Ada Example <ada@example.org> ${Math.floor(timeMs / 1000)} +0000`;
  const from = number === 0 ? `from ${main}\n` : '';
  return `commit refs/heads/teddy/${session}\ncommitter ${ident}\n${data(withHashes(rename(message), hashes))}${from}${blobs.join('')}\n`;
}
