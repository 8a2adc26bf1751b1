/**
 * Installs real agents from npm, one at a time and without their install scripts, and runs `test/real-agents` with each of them, in a
 * network of its own where the machine allows one. `npm run test:agents [agent ...]`; with AGENTS_PREFIX=<directory> they stay there.
 * Writes what each agent has passed into the table in docs/agents.md.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const platform = `${process.platform}-${process.arch}`;
/** `program`: below node_modules; a native program needs neither Node nor the package's install script. */
const agents = [
  {
    name: 'claude-code',
    from: '@anthropic-ai/claude-code@2.1.330',
    program: `@anthropic-ai/claude-code-${platform}/claude`,
  },
  {
    name: 'claude-code',
    from: '@anthropic-ai/claude-code@2.1.197',
    program: `@anthropic-ai/claude-code-${platform}/claude`,
  },
  { name: 'codex', from: '@openai/codex@0.169.0', program: '.bin/codex' },
  { name: 'copilot', from: '@github/copilot@1.0.102', program: `@github/copilot-${platform}/copilot` },
  { name: 'gemini', from: '@google/gemini-cli@0.61.0', program: '.bin/gemini' },
  { name: 'opencode', from: 'opencode-ai@1.18.33', program: `opencode-${platform}/bin/opencode` },
  { name: 'pi', from: '@mariozechner/pi-coding-agent@0.73.1', program: '.bin/pi' },
  { name: 'qwen', from: '@qwen-code/qwen-code@0.15.10', program: '.bin/qwen' },
];
const tableHead = '| agent | version | capture | killed at any time | sweep | gate | `resume --with` | init |';
const root = fileURLToPath(new URL('..', import.meta.url));
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !agents.some((agent) => agent.name === name));
if (unknown.length > 0) {
  console.error(
    `No such agent: ${unknown.join(', ')}. There are ${[...new Set(agents.map(({ name }) => name))].join(', ')}.`,
  );
  process.exit(2);
}

const kept = process.env.AGENTS_PREFIX;
const chosen = agents.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const results = chosen.map((agent) => `${agent.from}: ${testAgent(agent)}`);
console.log(`\n${results.join('\n')}`);
process.exitCode = results.some((result) => result.endsWith(': failed')) ? 1 : 0;

function testAgent({ name, from, program }) {
  const prefix =
    kept === undefined ? mkdtempSync(join(tmpdir(), 'teddy-agent-')) : join(kept, from.replace(/[/@]+/g, '-'));
  try {
    const path = join(prefix, 'node_modules', program);
    const failure = existsSync(path) ? null : install(prefix, from);
    if (failure !== null || !existsSync(path)) return `could not be had: ${failure ?? `it has no ${program}`}`;
    const [first, ...args] = isolate([
      process.execPath,
      'node_modules/vitest/vitest.mjs',
      'run',
      '--config',
      'test/real-agents/vitest.config.ts',
    ]);
    const version = from.split('@').at(-1);
    const env = { ...process.env, AGENT_NAME: name, AGENT_VERSION: version, AGENT_PROGRAM: path };
    const report = join(prefix, 'report.json');
    const reporters = ['--reporter=verbose', '--reporter=json', `--outputFile.json=${report}`];
    const { status } = spawnSync(first, [...args, ...reporters], { cwd: root, env, stdio: 'inherit' });
    if (existsSync(report)) writeRow(name, version, JSON.parse(readFileSync(report, 'utf8')));
    return status === 0 ? 'passed' : 'failed';
  } finally {
    if (kept === undefined) rmSync(prefix, { recursive: true, force: true });
  }
}

function install(prefix, from) {
  const args = ['install', '--prefix', prefix, '--ignore-scripts', '--no-audit', '--no-fund', '--no-save', from];
  const { status, stderr } = spawnSync('npm', args, { encoding: 'utf8' });
  return status === 0 ? null : (/^npm error (?!code)(.*)$/m.exec(stderr)?.[1] ?? 'npm failed');
}

/** No request leaves the machine where there is only loopback. */
function isolate(command) {
  const up = 'ip link set lo up && exec "$@"';
  const found = [['-n'], ['-r', '-n']]
    .map((flags) => ['unshare', ...flags, 'sh', '-c', up, 'sh'])
    .find(([first, ...args]) => spawnSync(first, [...args, 'true']).status === 0);
  if (found === undefined) console.log('This machine allows no network of its own: the agents can reach the outside.');
  return [...(found ?? []), ...command];
}

/** Replaces the row of this version, and leaves the others. */
function writeRow(name, version, { testResults }) {
  const outcome = (file) => {
    const states = testResults
      .filter((one) => one.name.endsWith(`/${file}.test.ts`))
      .flatMap((one) => one.assertionResults);
    const [passed, failed] = ['passed', 'failed'].map((word) => states.filter(({ status }) => status === word).length);
    return failed > 0 ? `${failed} of ${passed + failed} failed` : passed > 0 ? `${passed} passed` : 'no';
  };
  const path = join(root, 'docs/agents.md');
  const row = `| ${[name, version, ...['capture', 'kills', 'sweep', 'gate', 'open-with', 'init'].map(outcome)].join(' | ')} |`;
  const lines = readFileSync(path, 'utf8').split('\n');
  const at = lines.findIndex((line) => line.startsWith(`| ${name} | ${version} |`));
  const end = lines.findIndex((line, index) => index > lines.indexOf(tableHead) && line === '');
  if (at >= 0) lines[at] = row;
  else lines.splice(end, 0, row);
  writeFileSync(path, lines.join('\n'));
}
