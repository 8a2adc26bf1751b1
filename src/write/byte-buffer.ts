/** Collects bytes that arrive in pieces into one array. Copies each byte only a few times, however small the pieces are. */
export interface ByteBuffer {
  length(): number;
  append(bytes: Uint8Array): void;
  /** Returns the bytes from `from` on, without copying them and without later additions. Valid until `take`. */
  view(from?: number): Uint8Array;
  /** Returns the bytes, followed by `more`, in a new array, and empties the buffer. */
  take(more?: Uint8Array): Uint8Array<ArrayBuffer>;
}

const firstCapacity = 256;
/** Unused memory occupies no space, so a large step costs nothing, and leaves little to copy and discard. */
const growth = 16;
/** From this size on, the buffer only doubles, because address space is limited too. */
const largeCapacity = 16 * 1024 * 1024;
const maxKept = 64 * 1024;

export function openByteBuffer(): ByteBuffer {
  let store = new Uint8Array(0);
  let length = 0;
  return {
    length: () => length,
    append(bytes) {
      const needed = length + bytes.length;
      if (needed > store.length) store = grow(store, length, needed);
      store.set(bytes, length);
      length = needed;
    },
    view: (from = 0) => store.subarray(from, length),
    take(more) {
      const taken = new Uint8Array(length + (more?.length ?? 0));
      copyTo(taken, store, length);
      if (more !== undefined) taken.set(more, length);
      length = 0;
      // Reuse the memory, but do not let one long piece keep it allocated forever.
      if (store.length > maxKept) store = new Uint8Array(0);
      return taken;
    },
  };
}

function copyTo(target: Uint8Array, store: Uint8Array, length: number): void {
  // For a few bytes, the loop is much faster than copying from a view.
  if (length > 32) target.set(store.subarray(0, length));
  else for (let at = 0; at < length; at += 1) target[at] = store[at] ?? 0;
}

function grow(store: Uint8Array, length: number, needed: number): Uint8Array<ArrayBuffer> {
  const wanted = store.length < largeCapacity ? growth * store.length : 2 * store.length;
  const grown = new Uint8Array(Math.max(needed, wanted, firstCapacity));
  grown.set(store.subarray(0, length));
  return grown;
}
