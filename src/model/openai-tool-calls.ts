/** Puts the calls of an answer together from their pieces. Tolerant of what servers leave out. */
import type { ModelToolCall } from '../ports/model.ts';

export interface GatheredCalls {
  /** `delta.tool_calls` of a chunk. */
  add(pieces: unknown): void;
  /** Those with a name, in the order in which they began. */
  whole(): ModelToolCall[];
}

interface Piece {
  index: number | null;
  id: string;
  name: string;
  text: string;
}

/** Its id is empty until one comes. */
type Part = Piece;

export function gatherToolCalls(): GatheredCalls {
  const parts: Part[] = [];
  function add(piece: Piece): void {
    const part = findPart(parts, piece);
    if (part === undefined) {
      parts.push({ ...piece });
      return;
    }
    part.id ||= piece.id;
    // In one piece, and some servers repeat it in each.
    part.name ||= piece.name;
    part.text += piece.text;
  }
  return {
    add: (pieces) => (Array.isArray(pieces) ? pieces.map(toPiece).forEach(add) : undefined),
    whole: () => toCalls(parts.filter(({ name }) => name !== '')),
  };
}

/** Undefined: a call begins. An id says more than an index, which some servers leave out or give to all calls. */
function findPart(parts: Part[], { index, id, name }: Piece): Part | undefined {
  if (index === null) {
    if (id !== '') return parts.find((part) => part.id === id);
    return name === '' ? parts.at(-1) : undefined;
  }
  return parts.findLast((part) => part.index === index && (id === '' || part.id === '' || part.id === id));
}

function toPiece(value: unknown): Piece {
  const called = fieldOf(value, 'function');
  const index = fieldOf(value, 'index');
  return {
    index: typeof index === 'number' ? index : null,
    id: toText(fieldOf(value, 'id')),
    name: toText(fieldOf(called, 'name')),
    text: toArguments(fieldOf(called, 'arguments')),
  };
}

/** Some servers send the object itself. */
function toArguments(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : toText(value);
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** A result names its call by the id: each needs one of its own. */
function toCalls(parts: Part[]): ModelToolCall[] {
  const ids = new Set<string>();
  return parts.map(({ id, name, text }, at) => {
    const own = id === '' || ids.has(id) ? toFreeId(at + 1, ids) : id;
    ids.add(own);
    return { id: own, name, arguments: text };
  });
}

function toFreeId(number: number, taken: Set<string>): string {
  const id = `call_${number}`;
  return taken.has(id) ? toFreeId(number + 1, taken) : id;
}
