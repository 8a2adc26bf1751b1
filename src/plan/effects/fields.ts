/**
 * Defines a format once, as a table of fields that determines its type, its check, its key order and its JSON Schema.
 * zod could do this too, but every command that reads a report would have to load zod (25 to 31 ms), and the reader
 * would have to include it (7 of 88 KB, gzipped). Remove this module once zod loads in 3 ms.
 */
import { isObject } from '../../session/text/parse-object.ts';

export interface Field<Value> {
  /**
   * Returns the value with the table's keys, in the table's order. Leaves invalid values unchanged, and adds each one
   * to `faults` with its place.
   */
  read(value: unknown, faults: string[], place?: string): Value;
  /** JSON Schema, draft 2020-12. */
  schema: object;
}

/** A field whose key may be missing. */
interface OptionalField<Value> extends Field<Value> {
  isOptional: true;
}

export type ValueOf<F> = F extends Field<infer Value> ? Value : never;
type Fields = Record<string, Field<unknown>>;
type OptionalKeys<F> = { [Key in keyof F]: F[Key] extends OptionalField<unknown> ? Key : never }[keyof F];
type ObjectOf<F> = { [Key in Exclude<keyof F, OptionalKeys<F>>]: ValueOf<F[Key]> } & {
  [Key in OptionalKeys<F>]?: ValueOf<F[Key]>;
};
type Flat<Value> = { [Key in keyof Value]: Value[Key] };

export function object<const F extends Fields>(fields: F): Field<Flat<ObjectOf<F>>> {
  const entries = Object.entries(fields);
  const isNeeded = (field: Field<unknown>) => !('isOptional' in field);
  return {
    read(value, faults, place = '') {
      if (!isObject(value)) return refuse(value, faults, place, 'is not of type object');
      const present = entries.filter(([key, field]) => value[key] !== undefined || isNeeded(field));
      const read = present.map(([key, field]) => [key, field.read(value[key], faults, join(place, key))]);
      return Object.fromEntries(read) as Flat<ObjectOf<F>>;
    },
    schema: {
      type: 'object',
      properties: Object.fromEntries(entries.map(([key, { schema }]) => [key, schema])),
      required: entries.filter(([, field]) => isNeeded(field)).map(([key]) => key),
    },
  };
}

export function optional<Value>(field: Field<Value>): OptionalField<Value> {
  return { ...field, isOptional: true };
}

export function nullable<Value>({ read, schema }: Field<Value>): Field<Value | null> {
  return {
    read: (value, faults, place) => (value === null ? null : read(value, faults, place)),
    schema: { anyOf: [schema, { type: 'null' }] },
  };
}

export function list<Value>({ read, schema }: Field<Value>): Field<Value[]> {
  return {
    read(value, faults, place = '') {
      if (!Array.isArray(value)) return refuse(value, faults, place, 'is not of type array');
      return value.map((item, index) => read(item, faults, join(place, String(index))));
    },
    schema: { type: 'array', items: schema },
  };
}

/** A field with arbitrary keys; preserves their order, which is meaningful. */
export function record<Value>({ read, schema }: Field<Value>): Field<Record<string, Value>> {
  return {
    read(value, faults, place = '') {
      if (!isObject(value)) return refuse(value, faults, place, 'is not of type record');
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [key, read(item, faults, join(place, key))]),
      );
    },
    schema: { type: 'object', additionalProperties: schema },
  };
}

/** Reads the value as the first of these fields that finds no fault. */
export function either<const F extends Field<unknown>[]>(...fields: F): Field<ValueOf<F[number]>> {
  return {
    read(value, faults, place = '') {
      for (const field of fields) {
        const found: string[] = [];
        const read = field.read(value, found, place) as ValueOf<F[number]>;
        if (found.length === 0) return read;
      }
      return refuse(value, faults, place, 'is not valid');
    },
    schema: { anyOf: fields.map(({ schema }) => schema) },
  };
}

export function oneOf<const Value extends string | number>(...values: Value[]): Field<Value> {
  return {
    read(value, faults, place = '') {
      const known = values.find((one) => one === value);
      return known ?? refuse(value, faults, place, `is not ${values.join(' or ')}`);
    },
    schema: { enum: values },
  };
}

export function text<Value extends string = string>(valid?: RegExp | ((value: string) => boolean)): Field<Value> {
  const pattern = valid instanceof RegExp ? { pattern: valid.source } : {};
  const isValid = valid instanceof RegExp ? (value: string) => valid.test(value) : valid;
  return {
    read(value, faults, place = '') {
      if (typeof value !== 'string') return refuse(value, faults, place, 'is not of type string');
      if (isValid?.(value) === false) return refuse(value, faults, place, 'is not valid');
      return value as Value;
    },
    schema: { type: 'string', ...pattern },
  };
}

export function integer(least = -Infinity): Field<number> {
  const any = number(least);
  return {
    read(value, faults, place = '') {
      if (isNumber(value) && !Number.isInteger(value)) return refuse(value, faults, place, 'is not of type int');
      if (isNumber(value) && !Number.isSafeInteger(value)) return refuse(value, faults, place, 'is not valid');
      return any.read(value, faults, place);
    },
    schema: { ...any.schema, type: 'integer' },
  };
}

export function number(least = -Infinity): Field<number> {
  return {
    read(value, faults, place = '') {
      if (!isNumber(value)) return refuse(value, faults, place, 'is not of type number');
      return value >= least ? value : refuse(value, faults, place, 'is not valid');
    },
    schema: { type: 'number', ...(least === -Infinity ? {} : { minimum: least }) },
  };
}

function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

export const boolean: Field<boolean> = {
  read: (value, faults, place = '') =>
    typeof value === 'boolean' ? value : refuse(value, faults, place, 'is not of type boolean'),
  schema: { type: 'boolean' },
};

function join(place: string, key: string): string {
  return place === '' ? key : `${place}.${key}`;
}

function refuse(value: unknown, faults: string[], place: string, why: string): never {
  faults.push(`${place === '' ? 'the document' : place} ${why}`);
  return value as never;
}
