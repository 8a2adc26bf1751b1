import fc from 'fast-check';
import { expect } from 'vitest';
import { countBytes } from '../../src/session/text/bytes.ts';
import { propertyTest } from '../support/slow-test.ts';

propertyTest('the byte count of any text equals its encoded length', () => {
  const unit = fc.oneof(
    fc.constantFrom('a', '\0', 'ü', '€', '😀', '\ud83d', '\ude00', '\uffff'),
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  );
  fc.assert(
    fc.property(
      fc.array(unit, { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 140_000 }),
      (units, length) => {
        const piece = units.join('');
        const text = piece.repeat(Math.ceil(length / piece.length));
        expect(countBytes(text)).toBe(Buffer.byteLength(text));
      },
    ),
  );
});
