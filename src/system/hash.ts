import { createHash } from 'node:crypto';
import type { Hash } from '../ports/project.ts';

/** 64 lower-case hexadecimal digits; a string is hashed as UTF-8. */
export const sha256: Hash = (bytes) => createHash('sha256').update(bytes).digest('hex');
