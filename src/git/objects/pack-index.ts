/** A pack's index, collected in little memory, because there may be millions of objects, and rendered as git does. */
import { createHash } from 'node:crypto';

export interface PackIndex {
  readonly count: number;
  has(id: Buffer): boolean;
  add(id: Buffer, crc: number, offset: number): void;
  /** Renders version 2 for the pack with this checksum, in parts, because the index may be many megabytes in size. */
  render(packChecksum: Buffer): Buffer[];
}

const firstCapacity = 1024;
/** Offsets of at least this value take eight bytes, in a separate table. */
const longOffset = 0x8000_0000;

export function packIndex(objectFormat: 'sha1' | 'sha256'): PackIndex {
  const idBytes = objectFormat === 'sha1' ? 20 : 32;
  let count = 0;
  let ids = Buffer.alloc(firstCapacity * idBytes);
  let crcs = new Uint32Array(firstCapacity);
  let offsets = new Float64Array(firstCapacity);
  // An open-addressing hash table keyed by the first bytes of an ID, which are practically random. 0 is a free slot;
  // any other value is the place + 1.
  let places = new Uint32Array(firstCapacity * 2);

  // Reads a byte directly, because one view per ID would create millions of objects.
  const firstByteAt = (place: number) => ids[place * idBytes] ?? 0;
  const compare = (id: Buffer, from: number, place: number) =>
    id.compare(ids, place * idBytes, (place + 1) * idBytes, from, from + idBytes);
  /** Returns the ID's slot in the table, or the slot for inserting it. */
  const find = (id: Buffer, from = 0) => {
    for (let at = id.readUInt32BE(from) % places.length; ; at = (at + 1) % places.length) {
      const place = places[at] ?? 0;
      if (place === 0 || compare(id, from, place - 1) === 0) return at;
    }
  };
  const grow = () => {
    const capacity = crcs.length * 2;
    ids = copyInto(Buffer.alloc(capacity * idBytes), ids);
    crcs = copyInto(new Uint32Array(capacity), crcs);
    offsets = copyInto(new Float64Array(capacity), offsets);
    places = new Uint32Array(capacity * 2);
    for (let place = 0; place < count; place += 1) places[find(ids, place * idBytes)] = place + 1;
  };

  return {
    get count() {
      return count;
    },
    has: (id) => places[find(id)] !== 0,
    add(id, crc, offset) {
      if (count === crcs.length) grow();
      id.copy(ids, count * idBytes);
      crcs[count] = crc;
      offsets[count] = offset;
      count += 1;
      places[find(id)] = count;
    },
    render(packChecksum) {
      // Most IDs differ in their first bytes, and numbers compare without a function call.
      const heads = new Uint32Array(count).map((_, place) => ids.readUInt32BE(place * idBytes));
      const sorted = new Uint32Array(count)
        .map((_, place) => place)
        .sort((a, b) => (heads[a] ?? 0) - (heads[b] ?? 0) || compare(ids, a * idBytes, b));
      const long = sorted.filter((place) => (offsets[place] ?? 0) >= longOffset);
      const parts = [
        Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]),
        renderFanOut(sorted, firstByteAt),
        renderIds(sorted, ids, idBytes),
        render32(sorted, (place) => crcs[place] ?? 0),
        renderOffsets(sorted, offsets),
        renderLong(long, offsets),
        packChecksum,
      ];
      const hash = createHash(objectFormat);
      for (const part of parts) hash.update(part);
      return [...parts, hash.digest()];
    },
  };
}

function copyInto<Values extends Uint8Array | Uint32Array | Float64Array>(to: Values, from: Values): Values {
  to.set(from);
  return to;
}

/** Renders, for each first byte, the number of IDs that begin with it or a smaller one. */
function renderFanOut(sorted: Uint32Array, firstByte: (place: number) => number): Buffer {
  const counts = new Uint32Array(256);
  for (const place of sorted) counts[firstByte(place)] = (counts[firstByte(place)] ?? 0) + 1;
  let total = 0;
  return render32(counts, (count) => (total += count));
}

/**
 * Renders the offsets. An offset that needs eight bytes is written as its position in their table, with the highest bit
 * set.
 */
function renderOffsets(sorted: Uint32Array, offsets: Float64Array): Buffer {
  let longOnes = 0;
  return render32(sorted, (place) => {
    const offset = offsets[place] ?? 0;
    return offset < longOffset ? offset : longOffset + longOnes++;
  });
}

function renderIds(sorted: Uint32Array, ids: Buffer, idBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(sorted.length * idBytes);
  sorted.forEach((place, at) => void ids.copy(bytes, at * idBytes, place * idBytes, (place + 1) * idBytes));
  return bytes;
}

function renderLong(places: Uint32Array, offsets: Float64Array): Buffer {
  const bytes = Buffer.alloc(places.length * 8);
  places.forEach((place, at) => bytes.writeBigUInt64BE(BigInt(offsets[place] ?? 0), at * 8));
  return bytes;
}

function render32(values: Uint32Array, toNumber: (value: number) => number): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, at) => void bytes.writeUInt32BE(toNumber(value), at * 4));
  return bytes;
}
