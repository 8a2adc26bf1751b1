/** Byte order mark, line endings and final newline: what the target had before, the content keeps. */
import type { Candidate, Verdict } from './candidate.ts';
import { beginsWithBom, endsInNewline, lineEndingsOf } from './line-endings.ts';

const said = { lf: 'LF', crlf: 'CRLF' };

export function checkBom({ bytes, base, operation }: Candidate): Verdict {
  if (base === null) return null;
  const hasBom = beginsWithBom(bytes);
  const place = { check: 'bom', line: 1, column: 1 };
  if (operation === 'append') {
    return hasBom
      ? [{ ...place, message: 'The content begins with a byte order mark: it would stand inside the file.' }]
      : [];
  }
  const hadBom = beginsWithBom(base.bytes);
  if (hasBom === hadBom) return [];
  const message = hadBom
    ? 'The target begins with a byte order mark, and the content does not.'
    : 'The content begins with a byte order mark, and the target does not.';
  return [{ ...place, message }];
}

/** Only what breaks the rule of the target as a whole: content that mixes them is not blamed. */
export function checkLineEndings({ bytes, base }: Candidate): Verdict {
  if (base === null) return null;
  const [had, has] = [lineEndingsOf(base.bytes), lineEndingsOf(bytes)];
  if ((had !== 'lf' && had !== 'crlf') || (has !== 'lf' && has !== 'crlf') || had === has) return [];
  return [
    {
      check: 'line-endings',
      message: `All lines of the target end in ${said[had]}, those of the content in ${said[has]}.`,
      line: 1,
    },
  ];
}

export function checkFinalNewline({ bytes, base, text }: Candidate): Verdict {
  if (base === null) return null;
  if (!endsInNewline(base.bytes) || endsInNewline(bytes)) return [];
  const line = text.split('\n').length;
  return [{ check: 'final-newline', message: 'The target ends in a newline, and the content does not.', line }];
}

/** What is worth a word, and no finding. */
export function noteFormat({ bytes, base, operation }: Candidate): string[] {
  const notes: string[] = [];
  if (base === null && beginsWithBom(bytes)) notes.push('The content begins with a byte order mark.');
  if (lineEndingsOf(bytes) === 'mixed' && (base === null || lineEndingsOf(base.bytes) !== 'mixed')) {
    notes.push('Some lines of the content end in LF, others in CRLF.');
  }
  if (!endsInNewline(bytes) && base === null) notes.push('The content does not end in a newline.');
  if (operation === 'append' && base !== null && base.bytes.length > 0 && !endsInNewline(base.bytes)) {
    notes.push('The last line of the target had no newline: what is appended begins on that line.');
  } else if (base !== null && base.bytes.length > 0 && !endsInNewline(base.bytes) && endsInNewline(bytes)) {
    notes.push('The target did not end in a newline, and now it does.');
  }
  return notes;
}
