/**
 * The authors of the lines in a file of 5,000 that a thousand landed sessions have changed: whole processes, beside
 * git's own blame.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeRecord } from '../../src/conversation/records/transcript.ts';
import { encodeEntry, type Entry } from '../../src/session/entries/entry.ts';
import { encodeLanding } from '../../src/session/lines/landing.ts';
import { archiveRef, type Oid, type RefName, type SessionId, type TurnName } from '../../src/names.ts';
import { comparePairs, runProcess, type Row } from './measure.ts';
import { executable, git, keepForRemoval } from './repositories.ts';

type Env = NodeJS.ProcessEnv;

const sessions = 1000;
const [fileLines, changedLines] = [5000, 5];
const file = 'src/large.ts';

export async function measureBlame(env: Env, runs: number): Promise<Row> {
  const root = mkdtempSync(join(tmpdir(), 'teddy-bench-'));
  keepForRemoval(root);
  git(root, env, ['init', '-q', '-b', 'main']);
  await importSessions(root, env);
  git(root, env, ['repack', '-adq']);
  git(root, env, ['pack-refs', '--all']);
  git(root, env, ['reset', '-q', '--hard', 'main']);
  const teddy = (...args: string[]) => runProcess(process.execPath, [executable, ...args], root, env);
  const blame = () => runProcess('git', ['blame', '--porcelain', file], root, env);
  const whole = await comparePairs(runs, () => teddy('blame', file, '--json'), blame);
  const count = sessions.toLocaleString('en');
  return {
    what: `blame of ${fileLines.toLocaleString('en')} lines, ${count} landed sessions`,
    against: 'git blame of the same lines, + 25 ms',
    oursMs: whole.ours,
    againstMs: whole.against,
    // At most twice git's time, and 50 ms.
    figure: whole.ours / (whole.against + 25),
    unit: 'x',
    aim: 2,
  };
}

/** A landing names its line's tip, so each is made when the tip exists. */
async function importSessions(root: string, env: Env): Promise<void> {
  const importer = spawn('git', ['-c', 'core.fsync=none', 'fast-import', '--quiet', '--cat-blob-fd=3'], {
    cwd: root,
    env,
    stdio: ['pipe', 'ignore', 'inherit', 'pipe'],
  });
  const { stdin } = importer;
  if (stdin === null) throw new Error('git fast-import has no stdin.');
  const answers = createInterface({ input: importer.stdio[3] as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  const ended = new Promise<number | null>((resolve) => importer.on('close', resolve));
  let mark = 0;
  const commit = (ref: string, message: string, parent: number | null, files: Record<string, string>): number => {
    mark += 1;
    const content = Object.entries(files).map(([path, text]) => `M 100644 inline ${path}\n${data(text)}`);
    const from = parent === null ? '' : `from :${parent}\n`;
    const ident = `committer Ada Example <ada@example.org> ${1_790_000_000 + 60 * mark} +0000`;
    stdin.write(`commit ${ref}\nmark :${mark}\n${ident}\n${data(message)}${from}${content.join('')}\n`);
    return mark;
  };
  const lines = Array.from({ length: fileLines }, (_, at) => `export const value${at} = ${at};`);
  const render = () => `${lines.join('\n')}\n`;
  let main = commit('refs/heads/main', 'first\n', null, { [file]: render() });
  for (let number = 1; number <= sessions; number += 1) {
    const session = `20260921-session-${number}` as SessionId;
    const ref = archiveRef(`refs/heads/teddy/${session}` as RefName);
    const dir = `.teddy/sessions/${session}`;
    const entry = (kind: Entry['kind'], title: string, more: Partial<Entry> = {}) =>
      encodeEntry({
        kind,
        session,
        turn: kind === 'start' ? null : ('01' as TurnName),
        id: toId(),
        created,
        title,
        details: [],
        ...more,
      });
    const said = { role: 'user' as const, content: `Change ${changedLines} lines.` };
    const record = encodeRecord({ type: 'user', id: toId(), timestamp: created, message: said, source: 'text' });
    const asked = { agent: 'pathfinder', provider: 'openai', model: 'gpt-5' };
    let tip = commit(ref, entry('start', session), main, { [`${dir}/session.context`]: 'README.md\n' });
    tip = commit(ref, entry('message', said.content, asked), tip, { [`${dir}/01/transcript.jsonl`]: record });
    tip = commit(ref, entry('plan', 'Change lines', asked), tip, { [`${dir}/01/plan.md`]: '# Change lines\n' });
    for (let at = 0; at < changedLines; at += 1)
      lines[(number * 977 + at * 1009) % fileLines] = `export const changed${at} = 'session ${number} ';`;
    const report = toReport(session);
    const done = entry('report', 'SUCCESS Change lines', { status: 'SUCCESS' });
    tip = commit(ref, done, tip, { [`${dir}/01/report.md`]: report, [file]: render() });
    stdin.write(`get-mark :${tip}\n`);
    const { value } = await answers.next();
    const landing = encodeLanding('Change lines', [{ session, tip: String(value).trim() as Oid }]);
    main = commit('refs/heads/main', landing, main, { [file]: render() });
  }
  stdin.end();
  if ((await ended) !== 0) throw new Error('git fast-import failed.');
}

const created = '2026-09-21T10:00:00.000Z';
let ids = 0;
const toId = () => `01a207a1-1d50-71f4-a9dc-${String((ids += 1)).padStart(12, '0')}`;

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

function toReport(session: SessionId): string {
  return `version: 1
session: ${session}
turn: "01"
plan:
  title: Change lines
  sha256: ${createHash('sha256').update(session).digest('hex')}
  grammar: 2
  agent: pathfinder
  model: gpt-5
run_summary:
  status: SUCCESS
  start_time: "${created}"
  end_time: "${created}"
  error: null
memos:
  added: []
  removed: []
  rejected: []
action_logs:
  - index: 1
    action_type: EDIT
    status: SUCCESS
    params:
      file_path: ${file}
    approved_by: user
changes: []
validation_errors: []
`;
}
