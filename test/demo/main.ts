/**
 * `npm run demo`: a whole session, offline, in a temporary repository that is kept for you to look at.
 *
 * The answers of the model are recorded. They come from a server on this machine, through the real `openai` package.
 */
import { cpSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { paint, runQuietly, runStep, type Stage } from './run-step.ts';
import { answers, beginning, toStory } from './story.ts';

// The bundle is in dist/.
const root = fileURLToPath(new URL('..', import.meta.url));
const fixtures = join(root, 'fixtures', 'demo');
const teddyPath = join(root, 'dist', 'main.cjs');

process.exitCode = await runDemo();

async function runDemo(): Promise<number> {
  const startMs = performance.now();
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'teddy-demo-')));
  const recorded = answers.map((name) => readFileSync(join(fixtures, 'answers', name), 'utf8'));
  const server = await startModelServer({ answers: recorded, chunkSize: 64 });
  const stage: Stage = {
    directory,
    env: toEnvironment(server),
    hasColor: process.stdout.isTTY === true && !process.env['NO_COLOR'],
  };
  try {
    introduce(stage);
    await makeProject(stage);
    const session = await playStory(stage);
    await checkResult(stage, server, session);
    await writePage(stage);
    // A reader who continues with their own key must not ask for a model that only the demo has.
    await runQuietly(stage, 'git config --unset teddy.model');
    tellWhatNext(stage, session, (performance.now() - startMs) / 1000);
    return 0;
  } catch (error) {
    process.stdout.write(`\nThe demo did not go as it should.\n${error instanceof Error ? error.message : error}\n`);
    process.stdout.write(`The project is kept: ${directory}\n`);
    return 1;
  } finally {
    await server.close();
  }
}

/** Nothing from the user's own set-up reaches the demo: no key, no setting of git, teddy or npm. */
function toEnvironment(server: ModelServer): Record<string, string> {
  const own = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      !/^(?:GIT_|TEDDY_|OPENAI_|npm_|FORCE_COLOR$|NODE_EXTRA_CA_CERTS$|NODE_TEST_CONTEXT$)/i.test(entry[0]),
  );
  return {
    ...Object.fromEntries(own),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    OPENAI_API_KEY: 'no-key-is-needed-here',
    OPENAI_BASE_URL: server.url,
    NO_PROXY: '127.0.0.1',
    no_proxy: '127.0.0.1',
    DEMO_NODE: process.execPath,
    DEMO_TEDDY: teddyPath,
  };
}

function introduce(stage: Stage): void {
  const lines = [
    paint(stage, 'bold', 'teddy: a session from a failing test to a report, every step a commit'),
    '',
    "The model's answers are recorded (fixtures/demo/answers): a server on this machine sends them, and the real `openai`",
    'package receives them. Nothing leaves the machine. Everything else is real: the commands, the tests, the commits.',
    `All of it is in ${stage.directory}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function makeProject(stage: Stage): Promise<void> {
  cpSync(join(fixtures, 'project'), stage.directory, { recursive: true });
  await runQuietly(stage, 'git init --quiet --template= -b main');
  await runQuietly(stage, "git config user.name 'Demo' && git config user.email demo@example.org");
  await runQuietly(stage, 'git config teddy.model recorded-answers');
  await runQuietly(stage, "git add . && git commit --quiet -m 'Say how long ago something was'");
}

async function playStory(stage: Stage): Promise<string> {
  for (const step of beginning) await runStep(stage, step);
  const branch = await runQuietly(stage, 'git branch --show-current');
  const session = branch.replace(/^teddy\//, '');
  for (const step of toStory(session)) await runStep(stage, step);
  return session;
}

async function checkResult(stage: Stage, server: ModelServer, session: string): Promise<void> {
  await runQuietly(stage, 'node --test');
  await runQuietly(stage, 'git fsck --strict');
  const turns = await runQuietly(stage, `ls .teddy/sessions/${session}`);
  expectSame(
    'the turns',
    turns
      .split('\n')
      .filter((name) => /^\d/.test(name))
      .join(' '),
    '01 02-branch-01 03 04',
  );
  expectSame(
    'the main line',
    await runQuietly(stage, `git ls-tree --name-only 'teddy/${session}:.teddy/sessions/${session}/'`),
    '01\n02\nsession.context',
  );
  expectSame('git status', await runQuietly(stage, 'git status --porcelain'), '');
  expectSame('the user’s branch', await runQuietly(stage, 'git rev-list --count main'), '1');
  const requests = server.requests();
  expectSame('the requests', requests.length, answers.length);
  const shown = requests[0]?.messages.map(({ content }) => content).join('\n') ?? '';
  const source = readFileSync(join(fixtures, 'project', 'src', 'ago.js'), 'utf8');
  expectSame('that the first request shows src/ago.js', shown.includes(source), true);
}

/** Beside the project, where it would otherwise be a new file. */
async function writePage(stage: Stage): Promise<void> {
  const file = toPagePath(stage);
  await runStep(stage, {
    say: 'The whole session as one page, which a browser can show without teddy and without the network.',
    line: `teddy export --html '${file}'`,
  });
  await runStep(stage, {
    say: 'Anyone who has the repository can check the page against it.',
    line: `teddy verify --page '${file}'`,
  });
}

function toPagePath({ directory }: Stage): string {
  return `${directory}.html`;
}

function expectSame(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`About ${what}: expected ${String(expected)}, found ${String(found)}.`);
}

function tellWhatNext(stage: Stage, session: string, seconds: number): void {
  const lines = [
    '',
    paint(stage, 'bold', `Done in ${seconds.toFixed(1)} s: five turns on two lines, one failure, and the tests pass.`),
    '',
    'Open its page in a browser:',
    '',
    `file://${toPagePath(stage)}`,
    '',
    'The project is kept. Look around in it:',
    `  cd '${stage.directory}'`,
    `  teddy() { '${process.execPath}' '${teddyPath}' "$@"; }`,
    '  teddy log',
    '  teddy show 03',
    `  git show 'teddy/${session}'`,
    `  git diff main...HEAD -- . ':!.teddy'`,
    `  cat .teddy/sessions/${session}/04/_context.log`,
    'You can continue from any commit. This tries turn 04 again, with the answer from a file, so it needs no key:',
    '  git checkout -b my-attempt HEAD~3',
    `  teddy plan -m 'Put it right.' --from '${join(fixtures, 'answers', '04.md')}'`,
    '  teddy execute -y',
    'Remove it:',
    `  cd / && rm -rf '${stage.directory}' '${toPagePath(stage)}'`,
    '',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
