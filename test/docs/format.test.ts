/** Compares docs/format.md with the program's output: kinds, files, trailers, keys and types. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { KnownRecord } from '../../src/conversation/records/record.ts';
import { joinPath, turnDir, type SessionId, type TurnName } from '../../src/names.ts';
import { reportJsonSchema } from '../../src/plan/report/report-yaml.ts';
import { encodeEntry, entryKinds, type Entry } from '../../src/session/entries/entry.ts';
import { globalContextPath, memosPath } from '../../src/session/global/global-files.ts';
import { mayChangeCode, mayWrite } from '../../src/session/lines/line-paths.ts';

const page = readFileSync(join(fileURLToPath(new URL('../..', import.meta.url)), 'docs', 'format.md'), 'utf8');
const session = '20261121-fix-ago' as SessionId;
const turn = '02' as TurnName;

test('the table of kinds has each kind, with the files that it may write', () => {
  const rows = readRows('Kinds of entries');
  expect(rows.map(([kind]) => kind?.replaceAll('`', '')).toSorted()).toEqual([...entryKinds].toSorted());
  const files = ['turn.context', '_context.log', 'transcript.jsonl', 'plan.md', 'report.md'];
  for (const kind of entryKinds) {
    const [, , written = '', code = ''] = rows.find(([name]) => name === `\`${kind}\``) ?? [];
    const paths = [
      ...files.map((file) => [file, joinPath(turnDir(session, turn), file)] as const),
      ['raw.jsonl', joinPath(turnDir(session, turn), 'raw.jsonl')] as const,
      ['output/<n>.log', joinPath(turnDir(session, turn), 'output/3.log')] as const,
      ['pages/<n>.txt', joinPath(turnDir(session, turn), 'pages/2.txt')] as const,
      ['global.context', globalContextPath] as const,
      ['memos.yaml', memosPath] as const,
    ];
    const may = paths.filter(([, path]) => mayWrite(kind, session, turn, path)).map(([file]) => file);
    expect(
      paths.map(([file]) => file).filter((file) => written.includes(`\`${file}\``)),
      kind,
    ).toEqual(may);
    expect(code.startsWith('yes'), kind).toBe(mayChangeCode(kind));
  }
});

test('the table of trailers has each trailer that an entry can have', () => {
  const whole: Required<Entry> = {
    kind: 'report',
    session,
    turn,
    id: '01a207a1-0b87-77ad-80c3-3d6e24696581',
    created: '2026-11-23T08:58:38.837Z',
    title: 'A title',
    details: [],
    baseBranch: 'main',
    agent: 'pathfinder',
    provider: 'openai',
    model: 'gpt-5',
    tokens: { input: 1, output: 2, cached: 1, reasoning: 1 },
    costUsd: 0.1,
    status: 'SUCCESS',
    verdict: 'approved',
    sha256: '0'.repeat(64),
    importFormat: 'codex',
    foreign: { agent: 'claude-code', id: 'a-session' },
    head: '0'.repeat(40),
    write: { id: 'an id', intent: 'A guide', validation: 'passed' },
  };
  const written = [...encodeEntry(whole).matchAll(/^(Teddy-[A-Za-z0-9-]+):/gm)].map(([, key]) => key);
  expect(namesIn(readRows('Entries').map(([first = '']) => first)).toSorted()).toEqual(written.toSorted());
});

test('every key in a report is on the page', () => {
  const section = readSection('report.md');
  const { properties = {} } = reportJsonSchema() as Schema;
  for (const key of listKeys({ properties })) expect(section, key).toMatch(new RegExp(`[\`.]${key}[\`.]`));
});

test('the page explains how tokens are written, in the trailer and in a record', () => {
  const tokens = { input: 3641, output: 512, cached: 3200, reasoning: 128 };
  const base = { kind: 'plan' as const, session, turn, id: '', created: '', title: '', details: [] };
  const [written = ''] = /(?<=^Teddy-Tokens: ).*$/m.exec(encodeEntry({ ...base, tokens })) ?? [];
  const [, , form = ''] = readRows('Entries').find(([name]) => name === '`Teddy-Tokens`') ?? [];
  const [counts, ...more] = namesIn([form]).map((part) => part.replace(/<\w+>/g, '\\d+'));
  expect(written).toMatch(new RegExp(`^${counts}${more.join('')}$`));
  const [, keys = ''] = readRows('transcript.jsonl').find(([type]) => type === '`assistant`') ?? [];
  for (const key of Object.keys(tokens)) expect(keys).toContain(`\`${key}\``);
});

test('the table of records has each type', () => {
  const types: Record<KnownRecord['type'], true> = {
    user: true,
    assistant: true,
    assistant_partial: true,
    tool_use: true,
    tool_result: true,
    voice_interrupted: true,
    orchestrator_meta: true,
    note: true,
    thinking: true,
    plan: true,
    approval: true,
  };
  const listed = readRows('transcript.jsonl').map(([type = '']) => type.replaceAll('`', ''));
  expect(listed.toSorted()).toEqual(Object.keys(types).toSorted());
});

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
}

function listKeys({ properties = {}, items, anyOf = [] }: Schema): string[] {
  const own = Object.entries(properties).flatMap(([key, value]) => [key, ...listKeys(value)]);
  return [...own, ...(items === undefined ? [] : listKeys(items)), ...anyOf.flatMap(listKeys)];
}

/** Up to the next heading, whatever its level. */
function readSection(title: string): string {
  const found = page.split(/^#{2,3} /m).find((part) => part.startsWith(`${title}\n`));
  if (found === undefined) throw new Error(`The page has no section "${title}".`);
  return found;
}

/** The cells in the section's table, without its head. */
function readRows(title: string): string[][] {
  const lines = readSection(title).split('\n');
  const rows = lines.filter((line) => line.startsWith('| ')).slice(2);
  return rows.map((line) =>
    line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim()),
  );
}

function namesIn(cells: string[]): string[] {
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''));
}
