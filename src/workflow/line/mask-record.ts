/** Masks secrets in a transcript's records, because a model may see anything in them later. */
import type { KnownRecord } from '../../conversation/records/record.ts';
import type { Masker } from '../../ports/project.ts';

/** Records, and the text of a plan. */
interface Said {
  records: readonly KnownRecord[];
  plan?: string | undefined;
}

/**
 * Returns the records and the plan without secrets. Masks each text as a whole; IDs and times do not change. `count` is
 * the number of masked secrets. Throws MASKING_FAILED.
 */
export async function maskRecords(
  masker: Masker,
  { records, plan }: Said,
): Promise<{ records: KnownRecord[]; plan: string | undefined; count: number }> {
  const masked = await Promise.all(records.map((record) => maskRecord(masker, record)));
  const maskedPlan = plan === undefined ? undefined : await masker.mask(plan);
  const count = masked.reduce((sum, one) => sum + one.count, maskedPlan?.count ?? 0);
  return { records: masked.map(({ record }) => record), plan: maskedPlan?.text, count };
}

async function maskRecord(masker: Masker, record: KnownRecord): Promise<{ record: KnownRecord; count: number }> {
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
  if (Array.isArray(value)) {
    const items = await Promise.all(value.map((item) => maskValue(masker, item)));
    return { value: items.map((item) => item.value), count: items.reduce((sum, item) => sum + item.count, 0) };
  }
  return maskObject(masker, value);
}

/** Also masks keys. Two keys that become equal by masking remain two keys. */
async function maskObject(masker: Masker, value: object): Promise<{ value: object; count: number }> {
  const masked: Record<string, unknown> = {};
  let count = 0;
  for (const [key, inner] of Object.entries(value)) {
    const [name, content] = await Promise.all([masker.mask(key), maskValue(masker, inner)]);
    // In `token = ...`, the name makes the value a secret, which neither half reveals by itself.
    const named = typeof content.value === 'string' ? await maskNamed(masker, key, content.value) : null;
    count += name.count + content.count + (named?.count ?? 0);
    masked[toFreeKey(masked, name.text)] = named?.text ?? content.value;
  }
  return { value: masked, count };
}

async function maskNamed(masker: Masker, key: string, text: string): Promise<{ text: string; count: number } | null> {
  const lead = `${key}=`;
  const found = await masker.mask(`${lead}${text}`);
  const isInText = found.count > 0 && found.text.startsWith(lead);
  return isInText ? { text: found.text.slice(lead.length), count: found.count } : null;
}

function toFreeKey(taken: object, key: string, number = 1): string {
  const name = number === 1 ? key : `${key} (${number})`;
  return Object.hasOwn(taken, name) ? toFreeKey(taken, key, number + 1) : name;
}
