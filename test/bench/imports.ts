/**
 * Imports of 100,000 records in many turns, and in as many as possible: the whole process, its time per thousand
 * records, its memory.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Row } from './measure.ts';
import { makeRepository, measureProcess } from './repositories.ts';

interface Shape {
  what: string;
  turns: number;
  /** In each turn. */
  exchanges: number;
  /** Milliseconds per thousand records. */
  aimMs: number;
}

const shapes: Shape[] = [
  { what: '100,000 records in 1,000 turns', turns: 1000, exchanges: 49, aimMs: 500 },
  // A message and its answer: a record alone does not end a turn.
  { what: '100,000 records in 50,000 turns', turns: 50_000, exchanges: 0, aimMs: 667 },
];
const timestamp = '2026-01-24T10:00:00.000Z';

/** A message, tool calls, an answer. */
function makeTurn(turn: number, exchanges: number): object[] {
  const text = `Of turn ${turn}: ${'the quick brown fox jumps over the lazy dog, '.repeat(6)}`;
  const said = (role: 'user' | 'assistant') => ({
    type: role,
    id: `${role}-${turn}`,
    timestamp,
    message: { role, content: text },
  });
  const calls = Array.from({ length: exchanges }, (_, at) => {
    const call = { timestamp, tool_call_id: `call-${turn}-${at}` };
    const input = { path: `src/file-${at}.ts` };
    return [
      { type: 'tool_use', id: `use-${turn}-${at}`, ...call, tool_name: 'read_file', tool_input: input },
      { type: 'tool_result', id: `result-${turn}-${at}`, ...call, output: text, is_error: false },
    ];
  });
  return [said('user'), ...calls.flat(), said('assistant')];
}

export function measureImports(env: NodeJS.ProcessEnv): Row[] {
  const root = makeRepository(env, 20);
  const dir = mkdtempSync(join(tmpdir(), 'teddy-bench-import-'));
  try {
    return shapes.flatMap((shape) => measureImport(env, root, dir, shape));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function measureImport(
  env: NodeJS.ProcessEnv,
  root: string,
  dir: string,
  { what, turns, exchanges, aimMs }: Shape,
): Row[] {
  const log = join(dir, 'log.jsonl');
  const lines = Array.from({ length: turns }, (_, turn) => makeTurn(turn, exchanges)).flat();
  writeFileSync(log, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const { ms: oursMs, peakMb } = measureProcess(root, env, ['session', 'import', log, '--name', 'bench-import']);
  const name = `import of ${what} (${Math.round((lines.length / oursMs) * 1000)} records/s)`;
  const row = { oursMs, againstMs: null, against: '' };
  return [
    { ...row, what: `${name}: 1,000 records`, figure: (oursMs / lines.length) * 1000, unit: 'ms', aim: aimMs },
    { ...row, what: `${name}: memory`, figure: peakMb, unit: 'MB', aim: 200 },
  ];
}
