/** Checks the layout, the direction of imports and the house rules. `src/README.md` explains them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor, type BindingPattern } from 'oxc-parser';
import { describe, expect, test } from 'vitest';

const root = new URL('..', import.meta.url).pathname;
/** From the bottom up: each layer may import those before it. */
const core = ['names', 'session', 'plan', 'conversation', 'write'];
const roots = ['main', 'index', 'app', 'ports', 'errors', 'names'];

/**
 * How often the layout is violated today. A number here may only fall; a change that lowers one records the new number.
 */
const ceilings = {
  files: 833,
  importsBetweenVerbs: 64,
  filesWithOneImporter: 261,
  smallFilesWithOneImporter: 5,
  filesThatHaveNotEarnedTheirPlace: 8,
  filesThatReadTheProcess: 1,
};

/**
 * The number of lines that a room may have, rounded up to the next 250 when it was set. An issue may raise its own
 * rooms' numbers once, by at most its allowance.
 */
const lineCeilings: Record<string, number> = {
  agents: 3250,
  cli: 1500,
  'cli/ask': 1250,
  'cli/commands': 10_750,
  'cli/render': 3500,
  conversation: 5500,
  disk: 750,
  git: 8000,
  http: 3250,
  journal: 250,
  mcp: 1500,
  model: 2000,
  page: 3000,
  plan: 5000,
  ports: 2000,
  reader: 750,
  session: 7750,
  system: 7250,
  test: 108_750,
  top: 1250,
  view: 1500,
  web: 500,
  'workflow/blame': 2250,
  'workflow/capture': 2790,
  'workflow/chat': 1750,
  'workflow/ci': 1250,
  'workflow/context': 2250,
  'workflow/conversation': 1500,
  'workflow/doctor': 1500,
  'workflow/hooks': 1000,
  'workflow/landing': 2250,
  'workflow/line': 7500,
  'workflow/page': 1500,
  'workflow/replay': 2000,
  'workflow/review': 3250,
  'workflow/run': 3000,
  'workflow/setup': 750,
  'workflow/sharing': 2750,
  'workflow/turn': 1750,
  'workflow/verify': 3000,
  'workflow/writes': 2750,
  write: 2000,
};

/** Returns a folder in the workflow or the CLI, any other room as a whole, and `top` for the files beside the rooms. */
function toCeilingRoom(path: string): string {
  const [room = '', folder = '', ...rest] = path.split('/');
  if (folder === '') return 'top';
  return (room === 'workflow' || room === 'cli') && rest.length > 0 ? `${room}/${folder}` : room;
}

/**
 * Room -> the rooms that it may import from. `app` alone builds adapters; `cli` reaches them through it. From the
 * workflow, `app` takes only the check for a line that a plain `git fetch` has brought, which it passes to the kernel.
 */
const mayImport: Record<string, string[]> = {
  main: ['cli', 'errors'],
  index: ['app', 'errors', 'ports', 'view', 'workflow', ...core],
  app: ['agents', 'ports', 'errors', 'git', 'model', 'system', 'disk', 'journal', 'workflow', ...core],
  agents: ['ports', ...core],
  ports: ['agents', ...core],
  view: ['ports', 'errors', ...core],
  errors: [],
  cli: ['agents', 'app', 'ports', 'errors', 'view', 'workflow', 'http', 'mcp', 'page', 'web', ...core],
  http: ['app', 'ports', 'errors', 'view', 'workflow', 'page', 'web', ...core],
  mcp: ['app', 'ports', 'errors', 'view', 'workflow', 'http', ...core],
  workflow: ['agents', 'ports', 'errors', 'view', 'page', ...core],
  page: ['ports', ...core],
  reader: ['errors', 'ports', 'view', ...core],
  names: ['errors'],
  session: ['errors', 'ports', ...core],
  plan: ['errors', 'ports', ...core],
  conversation: ['errors', 'ports', ...core],
  write: ['errors', 'ports', ...core],
  git: ['ports', 'errors', 'disk', 'journal', ...core],
  model: ['ports', 'errors', 'web', ...core],
  system: ['agents', 'ports', 'errors', 'disk', 'journal', 'web', ...core],
  web: core,
  journal: ['ports', 'errors', 'disk', ...core],
  disk: ['ports', 'errors', ...core],
};

/**
 * Verb in the workflow -> the verbs below it. Some verbs are made from others: a conversation begins a turn, runs
 * commands and writes files, and sharing a line verifies it. The order keeps them free of cycles.
 */
const verbsBelow: Record<string, string[]> = {
  turn: ['context'],
  run: ['turn'],
  chat: ['context', 'run', 'turn', 'writes'],
  verify: ['context'],
  replay: ['run', 'verify'],
  blame: [],
  review: ['blame', 'writes'],
  page: ['review', 'verify', 'replay'],
  conversation: ['blame', 'page'],
  sharing: ['verify'],
  landing: ['blame', 'sharing'],
  hooks: ['sharing', 'verify'],
  ci: ['landing', 'sharing', 'verify', 'replay'],
  doctor: ['writes'],
  setup: [],
};

/**
 * Module -> the files that are its door: everything that others import from it. Other files are private to the folder.
 * It is a list instead of a file that re-exports them, because commands load only the one file that they run.
 */
const doors: Record<string, string> = {
  'conversation/history':
    'check-request decode-transcript fold-history history model-messages provider-parts render-anthropic render-history render-history-markdown render-jsonl render-openai resolve-files turn-history',
  'conversation/logs':
    'agent-branches agent-log agent-reader agent-records closed-log import-content import-context import-lines import-plain import-report importer json-elements rewinds',
  'conversation/prompts': 'agents allowed-commands chat-tools write-tool',
  'git/objects':
    'check-objects object-reader object-writer read-many scratch-tree sync-objects tree-decoder tree-of-paths write-line',
  'git/remotes': 'remote-transfers',
  'git/work-trees': 'attributes half-made-work-trees index-lock work-trees workspace',
  http: 'api client page-routes route schemas session-api start-server write-api',
  model: 'endpoint failure keyed-model recorded recorded-directory served-models',
  page: 'live origins render-list render-page session-page turn turn-state',
  'plan/match': 'diff match match-sequence problem word-diff',
  'plan/parse': 'parse',
  'system/agents': 'agent-log-directory agent-logs agent-setup hook-scripts mcp-settings spool',
  'system/files': 'export-file files',
  'system/secrets': 'masker',
  'system/shell': 'process-group running-processes shell',
  'system/web': 'github gitlab page-fetcher',
  'system/writes': 'check-syntax found-write staging-directory write-staging',
  view: 'schemas view',
  'workflow/blame': 'attribute-files attribute-lines blame-file code-steps document read-story why',
  'workflow/capture': 'capture drain gate install news setup-part status sweep',
  'workflow/chat': 'ask-for-files chat files turn',
  'workflow/ci': 'carry check-change ci pull-request',
  'workflow/context':
    'build-request change-memos code-tree compose-request edit-global edit-list explain read read-history rows show stored-prompt trust-global',
  'workflow/conversation': 'export-session follow-line import-session open-with read-log show-history',
  'workflow/doctor': 'examine-repository',
  'workflow/landing':
    'archive-landed archive-remote archive-session authorship-log delete-session land-for-review land-session landing',
  'workflow/line':
    'append append-records append-verdict approval-policy choose-start conversation-branch decide-memos describe-records draft-snapshot edited-code entry-labels find find-committed find-open find-recorded find-twin foreign-texts global-branch guard-session-files inspect-tree keep-answer keep-bytes keep-exchange list-work-trees mask-record mask-text masked-output move-refs needed-approval new-files new-session noted-landings notes open-work-tree own-start pending-plan prepare proposed-memos quarantine read-assistance read-content read-conversation read-end receive-answer recover-answer refuse-operation remove-work-tree repair save-global session-start settle-commands snapshot-new-files switch take-snapshot unfinished-run way-to-line',
  'workflow/page': 'page-file read-page',
  'workflow/replay': 'line replayed',
  'workflow/review':
    'count-all-costs count-cost count-stats diff-files diff-turns inbox list-sessions log-graph log-session read-status recent-turns review search-sessions session show-turn turn who',
  'workflow/run':
    'execute-or-replan execute-plan finish give-verdict left-files preview-plan run scripts select-actions settle',
  'workflow/setup': 'file-parts set-up',
  'workflow/sharing':
    'check-incoming check-outgoing choose-remote code-remote fetch-verified pull-sessions push-lines push-sessions shared-line shared-refs sync-sessions',
  'workflow/turn': 'ask-model begin branch-session find-next-step open plan read-recording rewind submit-plan undo',
  'workflow/verify':
    'check-approval check-promise compare-section find-brought line render-log-again session signing-keys',
  'workflow/writes':
    'append begin clean commit dialogue finalize find-target held list receive-from-model recover run-write stream',
};

const packageHomes: Record<string, string[]> = {
  clipanion: ['cli'],
  typanion: ['cli'],
  '@bomb.sh/tab': ['cli'],
  openai: ['model'],
  'eventsource-parser': ['model'],
  hono: ['http'],
  '@hono/node-server': ['http'],
  '@hono/zod-openapi': ['http'],
  'simple-git': ['git'],
  yaml: ['session', 'plan', 'system'],
  'smol-toml': ['system'],
  'jsonc-parser': ['system'],
  'get-east-asian-width': ['cli'],
  'oxc-parser': ['system'],
  '@modelcontextprotocol/server': ['mcp'],
  // It takes 25 ms to load, so only the server for agents has it.
  zod: ['mcp', 'view'],
  // Pure: patterns in, a decision out.
  picomatch: ['session'],
  ignore: ['session'],
  '@secretlint/secretlint-rule-preset-recommend': ['system'],
  diff: ['session', 'plan', 'conversation', 'write', 'cli'],
  'markdown-it': ['page'],
  'highlight.js': ['page'],
  'isomorphic-git': ['reader'],
};

interface SourceFile {
  path: string;
  room: string;
  text: string;
  imports: { target: string; typeOnly: boolean }[];
}

function filesBelow(dir: string): string[] {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

function roomOf(path: string): string {
  const inside = relative(join(root, 'src'), path);
  return inside.includes('/') ? inside.slice(0, inside.indexOf('/')) : inside.replace(/\.ts$/, '');
}

function importsOf(text: string): SourceFile['imports'] {
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?[^;'"]*?from\s+'([^']+)'|^import\s+'([^']+)'/gm);
  const dynamic = text.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g);
  return [
    ...[...statements].map((m) => ({ target: m[2] ?? m[3] ?? '', typeOnly: m[1] !== undefined })),
    ...[...dynamic].map((m) => ({ target: m[1] ?? '', typeOnly: false })),
  ];
}

const sources: SourceFile[] = filesBelow(join(root, 'src'))
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
  .map((path) => {
    const text = readFileSync(path, 'utf8');
    return { path, room: roomOf(path), text, imports: importsOf(text) };
  });

/** The places where a test file reads a clock to measure with, or expects less or more than a certain time. */
function findTimings(path: string, text: string): string[] {
  const clocks = path.endsWith('.test.ts') ? text.matchAll(/\b(?:performance\.now|hrtime|cpuUsage)\b/g) : [];
  const comparisons = text.matchAll(/\bexpect\((?:(?!;\n)[^])*?\.toBe(?:Less|Greater)Than(?:OrEqual)?\([^;]*\);/g);
  const times = /\bDate\.now\b|\w+Ms\b|\bms\b|\b(?:elapsed|duration|seconds|took)\w*/i;
  return [
    ...[...clocks].map(([found]) => found),
    ...[...comparisons].map(([found]) => found).filter((c) => times.test(c)),
  ];
}

const name = (file: SourceFile) => relative(root, file.path);

function violations(check: (file: SourceFile) => string[]): string[] {
  return sources.flatMap((file) => check(file).map((what) => `${name(file)}: ${what}`));
}

const inSource = (path: string) => relative(join(root, 'src'), path);

/** The files that each source file imports. */
const imported = new Map(
  sources.map((file) => {
    const own = file.imports.map(({ target }) => target).filter((target) => target.startsWith('.'));
    return [inSource(file.path), [...new Set(own.map((target) => inSource(join(file.path, '..', target))))]] as const;
  }),
);
const arrows = [...imported].flatMap(([from, targets]) => targets.map((to) => ({ from, to })));
const show = ({ from, to }: { from: string; to: string }) => `${from} -> ${to}`;

/** The folder in `workflow/` that a file is in. */
const verbOf = (path: string) => /^workflow\/([^/]+)\//.exec(path)?.[1] ?? null;
const betweenVerbs = arrows.filter(({ from, to }) => {
  const [one, other] = [verbOf(from), verbOf(to)];
  return one !== null && other !== null && one !== other && other !== 'line';
});

const withOneImporter = [...imported.keys()].filter((path) => arrows.filter(({ to }) => to === path).length === 1);

/** Source files that a test imports. */
const tested = new Set(
  filesBelow(join(root, 'test'))
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => importsOf(readFileSync(path, 'utf8')).map(({ target }) => inSource(join(path, '..', target)))),
);

/** Files that reach each other over their imports, including type imports. */
function findCircles(): string[][] {
  const [index, low] = [new Map<string, number>(), new Map<string, number>()];
  const [stack, circles]: [string[], string[][]] = [[], []];
  const lower = (path: string, value: number) => low.set(path, Math.min(low.get(path) ?? value, value));
  const visit = (path: string): void => {
    index.set(path, index.size);
    lower(path, index.size - 1);
    stack.push(path);
    for (const to of imported.get(path) ?? []) {
      if (!imported.has(to)) continue;
      if (!index.has(to)) {
        visit(to);
        lower(path, low.get(to) ?? 0);
      } else if (stack.includes(to)) lower(path, index.get(to) ?? 0);
    }
    if (low.get(path) !== index.get(path)) return;
    const circle = stack.splice(stack.indexOf(path));
    if (circle.length > 1) circles.push(circle);
  };
  for (const path of imported.keys()) if (!index.has(path)) visit(path);
  return circles;
}

/** Longer functions, and closures with more changing variables, are too much to read in one go. */
const functionLimits = { lines: 80, changing: 5 };

/** A function during the check: its own changing variables, and whether it contains other functions. */
interface LookedAt {
  start: number;
  end: number;
  changing: number;
  isClosure: boolean;
}

function findLargeFunctions(path: string, text: string): string[] {
  const [open, all]: [LookedAt[], LookedAt[]] = [[], []];
  const enter = ({ start, end }: Pick<LookedAt, 'start' | 'end'>) => {
    const [outer, looked] = [open.at(-1), { start, end, changing: 0, isClosure: false }];
    if (outer !== undefined) outer.isClosure = true;
    open.push(looked);
    all.push(looked);
  };
  const leave = () => void open.pop();
  new Visitor({
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    ArrowFunctionExpression: enter,
    'ArrowFunctionExpression:exit': leave,
    VariableDeclaration({ kind, declarations }) {
      const inner = open.at(-1);
      if (kind === 'let' && inner !== undefined)
        inner.changing += declarations.reduce((sum, { id }) => sum + countNames(id), 0);
    },
  }).visit(parseSync(path, text).program);
  const lineOf = (at: number) => text.slice(0, at).split('\n').length;
  return all.flatMap(({ start, end, changing, isClosure }) => {
    const [line, length] = [lineOf(start), lineOf(end) - lineOf(start) + 1];
    return [
      ...(length > functionLimits.lines ? [`the function in line ${line} has ${length} lines`] : []),
      ...(isClosure && changing > functionLimits.changing ? [`in line ${line}, ${changing} variables change`] : []),
    ];
  });
}

/** Counts the names in a declaration, including those in a destructuring. */
function countNames(pattern: BindingPattern): number {
  const sum = (patterns: BindingPattern[]) => patterns.reduce((count, one) => count + countNames(one), 0);
  if (pattern.type === 'Identifier') return 1;
  if (pattern.type === 'AssignmentPattern') return countNames(pattern.left);
  if (pattern.type === 'ArrayPattern')
    return sum(pattern.elements.flatMap((one) => (one?.type === 'RestElement' ? one.argument : (one ?? []))));
  return sum(pattern.properties.map((one) => (one.type === 'RestElement' ? one.argument : one.value)));
}

/** The rooms that are divided into shelves. */
const shelfRooms = ['session', 'plan', 'conversation', 'git', 'system'];
const roomOfPath = (path: string) => path.split('/')[0];

/**
 * Unions and lists with three or more words of ours, sorted. Keys picked from a type and git's arguments do not count.
 */
function findWords(text: string): string[] {
  const code = text.replaceAll(/\b(?:Pick|Omit)<[^;{]*?>/g, '');
  const unions = code.matchAll(/(?:'[a-z][\w-]*'\s*\|\s*)+'[a-z][\w-]*'/gi);
  const lists = code.matchAll(/\[\s*(?:'[a-z][\w-]*',?\s*)+\]/gi);
  return [...unions, ...lists]
    .map(([found]) => [...new Set(found.match(/(?<=')[\w-]+(?=')/g) ?? [])].toSorted())
    .filter((words) => words.length > 2)
    .map((words) => words.join(' '));
}

function expectAtMost(found: string[], most: number): void {
  expect(found.length, `more than ${most}:\n${found.join('\n')}\n`).toBeLessThanOrEqual(most);
}

describe('architecture', () => {
  test('no file is loose in workflow, and in cli only those that all of it needs', () => {
    const wholeCli =
      /^cli\/(?:arguments|command-(?:help|line|page)|compiled-code|context|option|plan-options|run-cli|teddy-command|terminal)\.ts$/;
    const lying = [...imported.keys()].filter((path) => /^(?:workflow|cli)\/[^/]+$/.test(path));
    expect(lying.filter((path) => !wholeCli.test(path))).toEqual([]);
  });

  test('the folders in workflow are those in the tour', () => {
    const folders = new Set([...imported.keys()].flatMap((path) => verbOf(path) ?? []));
    const known =
      'line turn context run conversation chat writes review blame verify replay page sharing landing doctor hooks capture ci setup';
    expect([...folders].toSorted()).toEqual(known.split(' ').toSorted());
  });

  test('the workflow kernel imports no other workflow folder', () => {
    expect(betweenVerbs.filter(({ from }) => verbOf(from) === 'line').map(show)).toEqual([]);
    const wired = arrows.filter(({ from, to }) => from === 'app.ts' && verbOf(to) !== null).map(({ to }) => to);
    expect(wired).toEqual(['workflow/sharing/check-incoming.ts']);
  });

  test('a verb imports its own folder, the kernel, and the verbs below it', () => {
    const strange = betweenVerbs.filter(({ from, to }) => !verbsBelow[verbOf(from) ?? '']?.includes(verbOf(to) ?? ''));
    expect(strange.map(show)).toEqual([]);
    expectAtMost(betweenVerbs.map(show), ceilings.importsBetweenVerbs);
  });

  test('lines grow by append, and refs move by moveRefs', () => {
    const naming = sources
      .filter(({ room }) => room === 'workflow' || room === 'app')
      .filter(({ text }) => /\b(?:updateRefs|writeLine)\b|\.publish\(/.test(text))
      .map((file) => inSource(file.path));
    const doors = ['line/append', 'line/move-refs'].map((file) => `workflow/${file}.ts`);
    expect(naming.filter((path) => !doors.includes(path))).toEqual([]);
  });

  test('no verb is below itself', () => {
    const below = (verb: string, above: string[]): string[] =>
      above.includes(verb)
        ? [[...above, verb].join(' -> ')]
        : (verbsBelow[verb] ?? []).flatMap((next) => below(next, [...above, verb]));
    expect(Object.keys(verbsBelow).flatMap((verb) => below(verb, []))).toEqual([]);
  });

  test('the core is layered: no arrow points back', () => {
    const layer = (path: string) => core.indexOf(roomOf(join(root, 'src', path)));
    const back = arrows.filter(({ from, to }) => layer(from) !== -1 && layer(to) > layer(from));
    expect(back.map(show)).toEqual([]);
  });

  test('files do not import each other in a cycle', () => {
    expect(findCircles().map((circle) => circle.join(', '))).toEqual([]);
  });

  test('a file has two importers, sixty lines, or its own test', () => {
    expectAtMost(withOneImporter, ceilings.filesWithOneImporter);
    const lines = new Map(sources.map((file) => [inSource(file.path), file.text.split('\n').length - 1]));
    const shorterThan = (length: number) => withOneImporter.filter((path) => (lines.get(path) ?? 0) < length);
    // The path of a command's file is the command, a folder of `agents` the agent, a file of `plan/actions` the action.
    const isNamed = (path: string) => /^(?:cli\/commands\/|plan\/actions\/|agents\/([^/]+)\/\1\.ts$)/.test(path);
    expectAtMost(
      shorterThan(40).filter((path) => !isNamed(path)),
      ceilings.smallFilesWithOneImporter,
    );
    const unearned = shorterThan(60).filter((path) => !isNamed(path) && !tested.has(path));
    expectAtMost(unearned, ceilings.filesThatHaveNotEarnedTheirPlace);
  });

  test('no room exceeds its ceiling', () => {
    const lines = new Map<string, number>();
    const add = (room: string, text: string) => lines.set(room, (lines.get(room) ?? 0) + text.split('\n').length - 1);
    for (const { path, text } of sources) add(toCeilingRoom(inSource(path)), text);
    for (const path of filesBelow(join(root, 'test')))
      if (/\.[jt]s$/.test(path)) add('test', readFileSync(path, 'utf8'));
    const above = [...lines].filter(([room, count]) => count > (lineCeilings[room] ?? 0));
    expect(above).toEqual([]);
    expect(Object.keys(lineCeilings).filter((room) => !lines.has(room))).toEqual([]);
    expect(sources.length).toBeLessThanOrEqual(ceilings.files);
  });

  test('among the code for people’s input and output, only main, run-cli and terminal use the process', () => {
    const readers = sources
      .filter(({ room, text }) => ['cli', 'http', 'mcp', 'workflow'].includes(room) && /\bprocess\.[a-z]/.test(text))
      .map((file) => inSource(file.path))
      .filter((path) => !['cli/run-cli.ts', 'cli/terminal.ts'].includes(path));
    expectAtMost(readers, ceilings.filesThatReadTheProcess);
  });

  test('code outside a module imports only its door', () => {
    const doors = ['view/view.ts', 'reader/reader.ts'];
    const roomOfDoor = (door: string) => `${door.split('/')[0]}/`;
    // The schemas have their own door: importing the other one must not load zod.
    const isSchema = (from: string, to: string) => to === 'view/schemas.ts' && /^(?:http|mcp)\//.test(from);
    const around = arrows.filter(
      ({ from, to }) =>
        !isSchema(from, to) &&
        doors.some((door) => to.startsWith(roomOfDoor(door)) && !from.startsWith(roomOfDoor(door)) && to !== door),
    );
    const behindAppend = arrows.filter(
      ({ from, to }) =>
        /^workflow\/line\/append-(?:drafts|tree)\.ts$/.test(to) && !/^workflow\/line\/append\b/.test(from),
    );
    expect([...around, ...behindAppend].map(show)).toEqual([]);
  });

  test('outside a module only its door is imported', () => {
    const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/'));
    const found = Object.keys(doors).map((module) => {
      const used = arrows.filter(({ from, to }) => folderOf(to) === module && folderOf(from) !== module);
      const names = new Set(used.map(({ to }) => to.slice(module.length + 1, -'.ts'.length)));
      return [module, [...names].toSorted().join(' ')];
    });
    expect(Object.fromEntries(found)).toEqual(doors);
  });

  test('only an agent’s folder and the core interpret the lines of its log', () => {
    const outside = arrows.filter(({ from, to }) => {
      const agent = /^(agents\/[^/]+\/)lines\.ts$/.exec(from)?.[1];
      return agent !== undefined && !to.startsWith(agent) && !core.includes(to.split('/')[0] ?? '');
    });
    expect(outside.map(show)).toEqual([]);
  });

  test('no shelf in a room is below itself', () => {
    const shelfOf = (path: string) => path.slice(0, path.lastIndexOf('/'));
    const below = new Map<string, Set<string>>();
    for (const { from, to } of arrows) {
      const [one, other] = [shelfOf(from), shelfOf(to)];
      const isInside =
        one !== other && shelfRooms.includes(one.split('/')[0] ?? '') && roomOfPath(one) === roomOfPath(other);
      if (isInside) below.set(one, (below.get(one) ?? new Set()).add(other));
    }
    const reach = (shelf: string, seen: Set<string>): Set<string> => {
      for (const next of below.get(shelf) ?? [])
        if (!seen.has(next)) {
          seen.add(next);
          reach(next, seen);
        }
      return seen;
    };
    expect([...below.keys()].filter((shelf) => reach(shelf, new Set()).has(shelf))).toEqual([]);
    expect(below.size).toBeGreaterThan(15);
  });

  test('a set of words is written once', () => {
    const places = new Map<string, string[]>();
    for (const { path, text } of sources)
      for (const words of findWords(text)) places.set(words, [...(places.get(words) ?? []), inSource(path)]);
    const twice = [...places].filter(([, files]) => new Set(files).size > 1);
    expect(twice.map(([words, files]) => `${words}: ${files.join(', ')}`)).toEqual([]);
    expect(findWords("type A = 'b' | 'a' | 'c'; const d = ['c', 'a', 'b'];")).toEqual(['a b c', 'a b c']);
  });

  test('a file’s first lines give its purpose; a command’s help does so for a command', () => {
    const silent = violations(({ path, text }) =>
      /^(?:#!.*\n)?\/\*\*/.test(text) || (path.includes('/cli/commands/') && text.includes('usage({'))
        ? []
        : [text.slice(0, text.indexOf('\n'))],
    );
    expect(silent).toEqual([]);
  });

  test('src contains only the rooms in the tour', () => {
    const rooms = new Set(sources.map((file) => file.room));
    expect([...rooms].filter((room) => !(room in mayImport))).toEqual([]);
  });

  test('imports go in one direction', () => {
    const wrong = violations((file) =>
      file.imports
        .filter(({ target }) => target.startsWith('.'))
        .map(({ target }) => ({ target, to: roomOf(join(file.path, '..', target)) }))
        .filter(
          ({ target, to }) =>
            !target.endsWith('package.json') && to !== file.room && !mayImport[file.room]?.includes(to),
        )
        .map(({ target }) => `imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('the core takes only types from the ports', () => {
    const wrong = violations((file) =>
      core.includes(file.room)
        ? file.imports
            .filter((i) => /\/ports\/[a-z]+\.ts$/.test(i.target) && !i.typeOnly)
            .map(() => 'imports values from ports')
        : [],
    );
    expect(wrong).toEqual([]);
  });

  test('the core uses no node module, no clock and no randomness', () => {
    const wrong = violations((file) =>
      core.includes(file.room)
        ? [
            ...file.imports.filter((i) => i.target.startsWith('node:')).map((i) => `imports ${i.target}`),
            ...[...file.text.matchAll(/\b(?:Date\.now|new Date\(\)|Math\.random|crypto\.|process\.)/g)].map(
              (m) => m[0],
            ),
          ]
        : [],
    );
    expect(wrong).toEqual([]);
  });

  test('each outside package has one home', () => {
    const wrong = violations((file) =>
      file.imports
        .filter(({ target, typeOnly }) => !target.startsWith('.') && !target.startsWith('node:') && !typeOnly)
        .map(({ target }) =>
          target
            .split('/')
            .slice(0, target.startsWith('@') ? 2 : 1)
            .join('/'),
        )
        .filter((pkg) => !packageHomes[pkg]?.includes(file.room))
        .map((pkg) => `imports ${pkg}`),
    );
    expect(wrong).toEqual([]);
  });

  test('no file in the core is over 250 lines', () => {
    const wrong = violations((file) => {
      const lines = file.text.split('\n').length - 1;
      return core.includes(file.room) && lines > 250 ? [`${lines} lines`] : [];
    });
    expect(wrong).toEqual([]);
  });

  test('no function is over 80 lines, and no closure has more than five changing variables', () => {
    const excepted: string[] = [];
    const wrong = violations(({ path, text }) =>
      excepted.includes(inSource(path)) ? [] : findLargeFunctions(path, text),
    );
    expect(wrong).toEqual([]);
    const six = 'let [a, { b, c = 1 }, ...d] = e(); let f, g;';
    expect(findLargeFunctions('x.ts', `function outer() { ${six} return () => a; }`)).toHaveLength(1);
    expect(findLargeFunctions('x.ts', `function outer() { ${six} return a; }`)).toEqual([]);
    expect(findLargeFunctions('x.ts', `const long = () => {${'\n'.repeat(80)}};`)).toHaveLength(1);
  });

  test('only main and cli print or end the process', () => {
    const wrong = violations((file) =>
      file.room === 'main' || file.room === 'cli'
        ? []
        : [...file.text.matchAll(/\bconsole\.|\bprocess\.(?:exit|stdout|stderr)\b/g)].map((m) => m[0]),
    );
    expect(wrong).toEqual([]);
  });

  test('only app builds adapters', () => {
    const adapters = ['git', 'model', 'system'];
    const wrong = violations((file) =>
      file.imports
        .filter(({ target }) => target.startsWith('.'))
        .map(({ target }) => roomOf(join(file.path, '..', target)))
        .filter((to) => adapters.includes(to) && to !== file.room && file.room !== 'app')
        .map((to) => `imports ${to}`),
    );
    expect(wrong).toEqual([]);
  });

  test('no test compares a duration: slowness is not a failure, and times are for the bench', () => {
    const tests = filesBelow(join(root, 'test'))
      .filter((path) => path.endsWith('.ts') && !path.startsWith(join(root, 'test', 'bench')))
      .filter((path) => path !== fileURLToPath(import.meta.url));
    expect(
      tests.flatMap((path) => findTimings(path, readFileSync(path, 'utf8')).map((found) => `${path}: ${found}`)),
    ).toEqual([]);
    for (const timing of [
      'const started = performance.now();',
      'const from = process.cpuUsage();',
      'const from = process.hrtime.bigint();',
      'expect(Date.now() - before).toBeLessThan(1000);',
      'expect(Math.min(...waitsMs)).toBeGreaterThan(150);',
      'expect(\n  result.durationMs,\n).not.toBeGreaterThanOrEqual(5);',
      'expect(ms).toBeLessThan(1);',
      'expect(count).toBeLessThan(elapsed);',
    ])
      expect(findTimings('x.test.ts', timing), timing).toHaveLength(1);
    expect(findTimings('x.test.ts', 'expect(files.length).toBeLessThan(5);\nrun({ waitMs: 5 });')).toEqual([]);
  });

  test('names describe their things, and nothing is a default export', () => {
    const wrong = violations((file) => [
      ...(/(?:utils?|helpers?|manager|service|common|misc)\b/.test(name(file)) ? ['its name says nothing'] : []),
      ...(/^export default/m.test(file.text) ? ['has a default export'] : []),
      ...(/^export \* from/m.test(file.text) ? ['is a barrel'] : []),
      ...(file.text.match(/\binterface I[A-Z][a-z]/g) ?? []).map((found) => `has an I prefix: ${found}`),
    ]);
    expect(wrong).toEqual([]);
  });

  test('a comment is a sentence with a subject', () => {
    const headless = /(?:\/\*\*(?:\n\s*\*)?|\/\/) (?:Of|Than|As|What)\b.*/g;
    const files = ['src', 'test', 'scripts'].flatMap((room) => filesBelow(join(root, room)));
    const read = (path: string) => (/\.m?ts$|\.mjs$/.test(path) ? readFileSync(path, 'utf8') : '');
    expect(files.flatMap((path) => read(path).match(headless) ?? [])).toEqual([]);
  });

  test('the top level is fixed', () => {
    const allowed = [
      'action.yml',
      'package.json',
      'package-lock.json',
      'tsconfig.json',
      'src',
      'test',
      'fixtures',
      'hooks',
      'README.md',
      'LICENSE',
      'docs',
      'scripts',
    ];
    const made = ['node_modules', 'dist', 'coverage'];
    const found = readdirSync(root).filter(
      (entry) => !entry.startsWith('.') && !allowed.includes(entry) && !made.includes(entry),
    );
    expect(found).toEqual([]);
    expect(roots.every((file) => sources.some((source) => source.room === file))).toBe(true);
  });
});
