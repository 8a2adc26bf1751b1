/** An overwrite that loses most of the file is often an answer that was cut, or left out what was to stay. */
import type { Candidate, Verdict } from './candidate.ts';

/** Of a smaller file nothing can be told. */
const minBaseBytes = 256;

export function checkShrink({ operation, bytes, base }: Candidate): Verdict {
  if (operation !== 'overwrite' || base === null) return null;
  const [had, has] = [base.bytes.length, bytes.length];
  if (had < minBaseBytes || has * 2 >= had) return [];
  const message = `The content is ${has} bytes, the target ${had}: more than half of it would be lost.`;
  return [{ check: 'shrink', message }];
}
