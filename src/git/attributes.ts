/** The rules that keep git from rewriting teddy's bytes, and diffs readable, whatever is checked out. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from './durable-file.ts';

const begin = '# teddy: begin (written by `teddy session new`; keeps session files byte for byte)';
const end = '# teddy: end';
const rules = [
  '/.teddy/** -text -filter -ident -working-tree-encoding',
  '/.teddy/**/_context.log -diff linguist-generated',
  '/.teddy/**/transcript.jsonl -diff linguist-generated',
];
const block = [begin, ...rules, end, ''].join('\n');

/** `info/attributes` beats every other attributes file; the user's own lines in it stay as they are. */
export async function installAttributes(commonDir: string): Promise<void> {
  const path = join(commonDir, 'info', 'attributes');
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (text.includes(block)) return;
  const start = text.indexOf(begin);
  const stop = text.indexOf(end, start);
  const others = start < 0 || stop < 0 ? text : text.slice(0, start) + text.slice(stop + end.length + 1);
  await replaceFile(path, others === '' || others.endsWith('\n') ? others + block : `${others}\n${block}`);
}
