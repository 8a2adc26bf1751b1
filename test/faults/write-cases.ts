/** The write sessions with faults. Repeating one of them would show: its entry would appear twice. */
import type { Operation } from '../../src/session/settings/write-limits.ts';

export type WriteSceneName =
  | 'write-create'
  | 'write-overwrite'
  | 'write-append'
  | 'write-one-shot'
  | 'write-off-line'
  | 'write-first-off-line'
  | 'write-left'
  | 'write-cancel';

export interface WriteScene {
  target: string;
  operation: Operation;
  /** The pieces in the order in which they come; each is saved before the next. */
  pieces: string[];
  /** The content that replaces the pieces at the end; null if they are the content. */
  replacement: string | null;
  /** The target before; null if there is none. */
  before: string | null;
}

const words = (name: string) => Array.from({ length: 60 }, (_, at) => `${name} line ${at + 1}\n`).join('');
const textPieces = [words('first'), words('second'), words('third')];
const numbers = (from: number) => Array.from({ length: 100 }, (_, at) => `  ${from + at},\n`).join('');
const jsonPieces = [`[\n${numbers(0)}`, numbers(100), `${numbers(200)}  300\n]\n`];

const made: WriteScene = {
  target: 'new/dir/made.json',
  operation: 'create',
  pieces: jsonPieces,
  replacement: null,
  before: null,
};

export const keptText = 'kept\n';

export const writeWishes: Record<WriteSceneName, WriteScene> = {
  'write-create': made,
  'write-overwrite': { ...made, target: 'src/kept.txt', operation: 'overwrite', pieces: textPieces, before: keptText },
  'write-append': { ...made, target: 'src/kept.txt', operation: 'append', pieces: textPieces, before: keptText },
  'write-one-shot': { ...made, replacement: jsonPieces.join('').replace('300', '301') },
  'write-off-line': made,
  'write-first-off-line': made,
  'write-left': made,
  'write-cancel': made,
};

/** All received content. */
export function contentOf({ pieces, replacement }: WriteScene): string {
  return replacement ?? pieces.join('');
}

/** The target at the end. */
export function afterOf(wish: WriteScene): string {
  return `${wish.operation === 'append' ? wish.before : ''}${contentOf(wish)}`;
}

export function isWriteSceneName(name: string): name is WriteSceneName {
  return name in writeWishes;
}
