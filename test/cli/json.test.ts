/** Checks that all commands print a thing with `--json` in one shape and under one name. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { createAction, executeAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';
import * as shapes from '../support/shapes.ts';
import { at, author, commit, describedSession, line, session, turn, verdict } from '../../src/view/schemas.ts';

const { logged, spending, cutFile } = shapes;
let project: TeddyProject;
let id: string;
let given: Record<string, unknown>;

beforeAll(async () => {
  project = await openTeddyProject({ files: { 'other.txt': 'x\n' } });
  id = await project.begin('shapes');
  await project.plan(planOf(createAction('a.txt', 'one\n')), 'One');
  await project.ok('session', 'approve', '-m', 'Good.', '--comment', '3:Here.');
  await project.ok('session', 'execute', '-y');
  await project.repo.write('other.txt', 'by hand\n');
  await project.repo.git('commit', '--quiet', '-am', 'By hand');
  await project.plan(planOf(executeAction('exit 3')), 'Fail');
  await project.ok('session', 'reject', '-m', 'Not so.');
  await project.plan(planOf(createAction('b.txt', 'two\n')), 'Two');
  given = await read('session', 'approve');
});
afterAll(() => project.close());

async function read(...words: string[]): Promise<Record<string, unknown>> {
  const { schema: _, ...value } = JSON.parse(await project.ok(...words, '--json')) as Record<string, unknown>;
  return value;
}

/** The schema takes the value, and names each of its fields. */
function expectShape(value: unknown, schema: z.ZodType): void {
  expect(schema.parse(value)).toEqual(value);
}

const person = { author, at };
const workTree = z.object({ path: z.string(), branch: z.string() });
const anything = z.unknown();

test('a list has the sessions as the API lists them, and where they are checked out', async () => {
  const row = describedSession.extend({ current: z.boolean(), workTrees: z.array(workTree) });
  expectShape(await read('session', 'list'), z.object({ sessions: z.array(row).length(1) }));
});

test('a log has the commits of the line', async () => {
  const log = await read('session', 'log');
  expectShape(log, z.object({ session, line, entries: z.array(logged).min(12) }));
  expect(log).toMatchObject({ session: id, line: `teddy/${id}` });
});

test('a turn that is shown has the commits of a log, and the verdicts', async () => {
  const shown = z.object({
    session,
    line,
    ...shapes.turnSummary.shape,
    ...shapes.turnLabel.pick({ turn: true, agent: true, provider: true, model: true, spent: true }).shape,
    ...shapes.turnLabel.pick({ undoneBy: true, partlyUndoneBy: true }).shape,
    plan: z.string(),
    promise: shapes.promise,
    report: z.looseObject({ version: z.literal(1) }),
    diff: z.string(),
    entries: z.array(logged).min(4),
    verdicts: z.array(verdict).length(1),
    cut: z.array(cutFile),
  });
  expectShape(await read('session', 'show', '01'), shown);
});

test('a review has the turns with their verdicts, the user’s own commits, and what was spent', async () => {
  const reviewed = shapes.turnLabel.extend({
    ...shapes.turnSummary.pick({ messages: true, asides: true }).shape,
    promise: shapes.promise.nullable(),
    verdicts: z.array(verdict),
    decisions: z.array(z.object({ decision: z.string(), by: z.string(), author, commit, actions: z.array(z.int()) })),
    cut: z.array(cutFile),
    commits: z.array(commit),
    error: z.string().nullable(),
    actions: anything,
    answeredBy: anything,
    files: anything,
  });
  const review = z.object({
    session,
    line,
    tip: commit,
    base: commit,
    baseBranch: z.string(),
    baseSession: session.nullable(),
    turns: z.array(reviewed).length(3),
    models: anything,
    approvers: z.array(author.extend({ approved: anything, byFlag: anything, rejected: anything })).length(1),
    people: z.array(author.extend({ snapshots: z.int(), commits: z.int() })),
    commits: z.array(z.object({ commit, subject: z.string(), after: turn.nullable() })).length(1),
    spent: spending,
    files: anything,
  });
  expectShape(await read('session', 'review'), review);
});

test('an approval prints the verdict as a turn has it', () => {
  expect(given).toMatchObject({ session: id, line: `teddy/${id}`, closed: false, isNew: true });
  expectShape(given['verdict'], verdict);
});

test('a status names the session and its line as all others do, and has the last verdict whole', async () => {
  const status = await read('status');
  expect(status).toMatchObject({ session: id, line: `teddy/${id}`, found: 'head' });
  expectShape(status['verdict'], verdict);
});

test('stats sum what was spent as a review does', async () => {
  const row = z.object({ session, lines: z.int(), turns: z.int(), spent: spending });
  const { spent, bySession } = await read('session', 'stats');
  expectShape(spent, spending);
  expectShape(bySession, z.array(row).length(1));
  const own = await read('session', 'stats', id);
  expectShape(
    { session: own['session'], line: own['line'], spent: own['spent'] },
    z.object({ session, line, spent: spending }),
  );
});

test('a story of a line has its people and times as a log has them', async () => {
  const { stories } = await read('why', 'a.txt:1');
  const asked = z.object({ ...person, text: z.string() });
  const approval = z.object({ ...person, how: z.string(), verdict: z.string(), text: z.string().nullable() });
  const [story] = stories as { kind: string; selector: string; turn: { asked: unknown; approvals: unknown } }[];
  expect(story).toMatchObject({ kind: 'turn', selector: id });
  expectShape(story?.turn.asked, asked);
  expectShape(story?.turn.approvals, z.array(approval).length(2));
  const { runs } = await read('blame', 'other.txt');
  const [run] = runs as { kind: string; person: unknown }[];
  const own = { session: session.nullable(), turn: turn.nullable() };
  expect(run?.kind).toBe('person');
  expectShape(run?.person, z.object({ commit, ...person, subject: z.string(), ...own }));
});

/** A report, a record, and a write session keep the names that their files and their protocol have. */
const ofFiles = ['report', 'problems', 'validation_errors'];

function keysOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(keysOf);
  return Object.entries(value).flatMap(([key, part]) => [key, ...(ofFiles.includes(key) ? [] : keysOf(part))]);
}

test('names are written in one way', async () => {
  const commands = [
    'status',
    'session list',
    'session log',
    'session show',
    'session review',
    'session stats',
    'doctor',
  ];
  for (const command of [
    ...commands,
    'session context',
    'session verify',
    'session replay',
    'search by',
    'session diff 01 02',
  ])
    expect(
      keysOf(await read(...command.split(' '))).filter((key) => key.includes('_')),
      command,
    ).toEqual([]);
});
