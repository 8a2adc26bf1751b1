/** Describes a context's files for the user: how much of each the model sees, and which list line added it. */
import type { NotShownReason, ShownFile } from '../../session/context/context-files.ts';
import type { LinePosition } from '../../session/context/context-levels.ts';
import { estimateTokens } from '../../session/text/tokens.ts';
import type { ReadContext } from './read.ts';
import { countBytes } from '../../session/text/bytes.ts';

export interface ContextRow {
  path: string;
  kind: 'shown' | 'not-shown' | 'missing';
  /** An estimate; 0 for a file that the model does not see. */
  tokens: number;
  bytes: number;
  reason: NotShownReason | null;
  /** `stored` means that git does not track the file, and that the model sees its version on disk. */
  source: 'blob' | 'stored' | null;
  /** The file's origin, such as `session.context:3` or `turn: CREATE in turn 02`. */
  from: string;
}

export function toContextRows(
  { files, resolved }: Pick<ReadContext, 'files' | 'resolved'>,
  from: (place: LinePosition) => string,
): ContextRow[] {
  const places = new Map(resolved.files.map(({ path, place }) => [path, place]));
  return files.flatMap((file) => {
    const place = places.get(file.path);
    return file.kind === 'refused' || place === undefined ? [] : [{ ...toRow(file), from: from(place) }];
  });
}

function toRow(file: Exclude<ShownFile, { kind: 'refused' }>): Omit<ContextRow, 'from'> {
  const { path, kind } = file;
  const nothing = { path, kind, tokens: 0, bytes: 0, reason: null, source: null };
  if (file.kind === 'missing') return nothing;
  if (file.kind === 'not-shown') return { ...nothing, bytes: file.bytes, reason: file.reason };
  return { ...nothing, tokens: estimateTokens(file.text), bytes: countBytes(file.text), source: file.source.kind };
}
