/** Bytes of a content that do not fit to what is known of it. */
import { TeddyError } from '../errors.ts';

/** `expected`: where in the content the next bytes belong. */
export class OffsetMismatch extends TeddyError {
  readonly expected: number;

  constructor(message: string, expected: number) {
    const hint = `Send what follows byte ${expected}; bytes that are known already may be sent again, unchanged.`;
    super('OFFSET_MISMATCH', message, hint);
    this.expected = expected;
  }
}
