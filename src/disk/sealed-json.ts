/** JSON that says when any of it was changed: `check` is the sha256 (hex) of the rest. */
import { createHash } from 'node:crypto';
import { parseObject } from '../session/parse-object.ts';

export function seal<Value extends object>(value: Value): Value & { check: string } {
  return { ...value, check: toCheck(value) };
}

/** Null: no object, or not as it was sealed. What was never sealed is taken as it is. */
export function unseal(text: string): Record<string, unknown> | null {
  const value = parseObject(text);
  if (value === null || !('check' in value)) return value;
  const { check, ...rest } = value;
  return check === toCheck(rest) ? rest : null;
}

function toCheck(value: object): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
