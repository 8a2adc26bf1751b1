/** Parsing and matching, in this process. */
import { parsePlan } from '../../src/plan/parse/parse.ts';
import { applyEdit } from '../../src/plan/match/match.ts';
import { medianOf, type Row } from './measure.ts';

function makePlan(bytes: number, edits: number): string {
  const parts = ['# Large plan\n\n## Action Plan\n'];
  const line = 'export const value = compute(options);\n';
  if (edits === 0) {
    parts.push(
      `\n### CREATE\n- **File Path:** src/large.ts\n\n\`\`\`\`ts\n${line.repeat(Math.floor(bytes / line.length))}\`\`\`\`\n`,
    );
    return parts.join('');
  }
  const body = line.repeat(Math.max(1, Math.floor(bytes / edits / line.length / 2) - 2));
  for (let at = 0; at < edits; at += 1) {
    parts.push(
      `\n### EDIT\n- **File Path:** src/file${at}.ts\n\n#### FIND:\n\`\`\`ts\n${body}\`\`\`\n#### REPLACE:\n\`\`\`ts\n${body}\`\`\`\n`,
    );
  }
  return parts.join('');
}

export async function measurePlans(runs: number): Promise<Row[]> {
  const rows: Row[] = [];
  const mebibyte = 1024 * 1024;
  for (const edits of [0, 5000]) {
    const what = edits === 0 ? 'one CREATE' : '5,000 EDITs';
    const [small, large] = [makePlan(mebibyte, edits), makePlan(9.5 * mebibyte, edits)];
    const smallMs = await medianOf(runs, () => void parsePlan(small));
    const largeMs = await medianOf(runs, () => void parsePlan(large));
    rows.push({
      what: `parse 10 MiB, ${what}`,
      against: 'the time',
      oursMs: largeMs,
      againstMs: null,
      figure: largeMs,
      unit: 'ms',
      aim: 1000,
    });
    rows.push({
      what: `parse 10 MiB, ${what}`,
      against: 'the same for 1 MiB',
      oursMs: largeMs,
      againstMs: smallMs,
      figure: largeMs / smallMs,
      unit: 'x',
      aim: 12,
    });
  }
  const text = Array.from({ length: 40_000 }, (_, at) => `  const value${at} = compute(${at * 7919}, options);\n`).join(
    '',
  );
  const pair = { find: '  const value = compute(12, options);\n  return value;\n', replace: 'x\n', line: 1, column: 1 };
  const missMs = await medianOf(runs, () => void applyEdit(text, { pairs: [pair], matchAll: false }));
  rows.push({
    what: 'EDIT without a match in 40,000 lines',
    against: 'the time',
    oursMs: missMs,
    againstMs: null,
    figure: missMs,
    unit: 'ms',
    aim: 100,
  });
  return rows;
}
