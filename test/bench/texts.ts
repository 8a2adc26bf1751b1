/** Large texts of each kind, in this process: the tests show that their times grow with them, these rows what the times are. */
import { joinContinuation } from '../../src/conversation/continuation.ts';
import { decodeTranscript } from '../../src/conversation/decode-transcript.ts';
import { encodeRecord } from '../../src/conversation/transcript.ts';
import { renderUnifiedDiff } from '../../src/plan/diff.ts';
import { applyEdit } from '../../src/plan/match.ts';
import { parsePlan } from '../../src/plan/parse.ts';
import { changeMemos, renderMemos } from '../../src/session/memos.ts';
import type { Oid, RepoPath } from '../../src/names.ts';
import { estimateTokens } from '../../src/session/tokens.ts';
import { renderTreeListing } from '../../src/session/tree-listing.ts';
import { masker } from '../../src/system/masker.ts';
import { simplifyHtml } from '../../src/system/page-text.ts';
import { letters } from '../support/planted-secrets.ts';
import { user } from '../support/conversations.ts';
import { medianOf, type Row } from './measure.ts';

const mebibyte = 1024 * 1024;
const rowsOf = <T>(count: number, row: (at: number) => T) => Array.from({ length: count }, (_, at) => row(at));
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Lists the name of each measurement, its aim in milliseconds, and the work. */
function listWork(): [what: string, aim: number, work: () => Promise<unknown> | void][] {
  const files = rowsOf(50_000, (at) => ({
    path: `packages/p${at % 40}/src/area-${at % 700}/part-${at % 3500}/file-${at}.ts` as RepoPath,
    mode: '100644' as const,
    oid: 'a'.repeat(40) as Oid,
  })).toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const code = 'const value = compute(input.items[0], "text");\n'.repeat(mebibyte / 47);
  const secrets = rowsOf(mebibyte / 45, (at) => `t = gh${'p_'}${letters(36, at)}\n`).join('');
  const said = encodeRecord(user('u', 'x'.repeat(1000))).repeat(9500);
  const [before, after] = [rowsOf(30_000, (at) => `line ${at}\n`), rowsOf(30_000, (at) => `other ${at}\n`)];
  const memos = renderMemos(rowsOf(12_000, (at) => `fact ${at}`));
  const changes = rowsOf(12_000, (at) => ({ kind: 'remove' as const, fact: `fact ${at}` }));
  const same = 'same\n'.repeat(200_000);
  const redact = masker({
    environment: {},
    root: null,
    settings: { get: async () => undefined },
    notices: { info: () => undefined, warn: () => undefined },
  });
  const equal = { find: ' aa\n'.repeat(33_000), replace: 'x\n', line: 1, column: 1 };
  return [
    ['listing of 50,000 files', 50, () => void renderTreeListing(files)],
    ['tokens of 1 MiB', 100, () => void estimateTokens(code)],
    ['masking of 1 MiB, a secret in every line', 3000, () => redact.mask(secrets)],
    ['transcript of 10 MiB', 2000, () => void decodeTranscript(said)],
    ['transcript of 200,000 cut objects', 2000, () => void decodeTranscript('{"type":"'.repeat(200_000))],
    ['diff of 30,000 lines that all change', 5000, () => void toDiff(before.join(''), after.join(''))],
    ['12,000 changes of 12,000 memos', 1000, () => void changeMemos(memos, changes)],
    ['seam of an answer of 200,000 equal lines', 2000, () => void joinContinuation(same, `${same}!`)],
    ['page of 1 MiB, <script> alone', 2000, () => void simplifyHtml('<script>'.repeat(mebibyte / 8))],
    ['plan of 256 KiB, "- **a " alone', 2000, () => void parsePlan('- **a '.repeat(43_691))],
    [
      'EDIT of 66,000 equal lines that misses',
      1000,
      () => void applyEdit('aa\n'.repeat(66_000), { pairs: [equal], matchAll: true }),
    ],
  ];
}

const toDiff = (before: string, after: string) => renderUnifiedDiff('a', bytesOf(before), bytesOf(after));

export async function measureTexts(runs: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [what, aim, work] of listWork()) {
    const oursMs = await medianOf(runs, work);
    rows.push({ what, against: 'the time', oursMs, againstMs: null, figure: oursMs, unit: 'ms', aim });
  }
  return rows;
}
