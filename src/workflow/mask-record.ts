/** A record of a transcript without secrets: whatever it holds may be shown to a model later. */
import type { KnownRecord } from '../conversation/record.ts';
import type { Masker } from '../ports.ts';

export interface MaskedRecord {
  record: KnownRecord;
  /** How many secrets were masked. */
  count: number;
}

/** Every text of it, each as a whole; ids and times stay as they are. Throws MASKING_FAILED. */
export async function maskRecord(masker: Masker, record: KnownRecord): Promise<MaskedRecord> {
  const { type, id, timestamp, ...fields } = record;
  const masked = await maskValue(masker, fields);
  return { record: { type, id, timestamp, ...(masked.value as object) } as KnownRecord, count: masked.count };
}

async function maskValue(masker: Masker, value: unknown): Promise<{ value: unknown; count: number }> {
  if (typeof value === 'string') {
    const { text, count } = await masker.mask(value);
    return { value: text, count };
  }
  if (typeof value !== 'object' || value === null) return { value, count: 0 };
  const entries = await Promise.all(
    Object.entries(value).map(async ([key, inner]) => ({ key, ...(await maskValue(masker, inner)) })),
  );
  const count = entries.reduce((sum, entry) => sum + entry.count, 0);
  if (Array.isArray(value)) return { value: entries.map((entry) => entry.value), count };
  return { value: Object.fromEntries(entries.map((entry) => [entry.key, entry.value])), count };
}
