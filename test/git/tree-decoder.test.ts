import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { TreeEntry } from '../../src/ports/git.ts';
import type { Oid } from '../../src/names.ts';
import { decodeTree, encodeTree } from '../../src/session/entries/object-format.ts';
import { treeDecoder } from '../../src/git/objects/tree-decoder.ts';

const toEntry = (name: string, content: string, mode: TreeEntry['mode'] = '40000'): TreeEntry => ({
  mode,
  name,
  oid: createHash('sha1').update(content).digest('hex') as Oid,
});
const many = Array.from({ length: 300 }, (_, at) => toEntry(String(at + 10), `turn ${at}`));

describe('a directory decoded after others', () => {
  const versions: Record<string, TreeEntry[]> = {
    'has one more in the midst': [...many, toEntry('100-branch-01', 'branch')],
    'has another content at its end': [...many.slice(0, -1), toEntry('99', 'other')],
    'has one fewer at its beginning': many.slice(1),
    'has a name that only begins as the other did': [...many.slice(0, 200), toEntry('20999', 'turn 199')],
    'has a name that is not UTF-8': [...many, { ...toEntry('\uFFFD', 'odd'), rawName: Uint8Array.from([0xff]) }],
    'has the very character of what is not UTF-8': [...many, toEntry('\uFFFD', 'odd', '100644')],
    'has the same rows twice': [...many, ...many],
    'has other rows altogether': many.map(({ name }) => toEntry(`x${name}`, `${name} else`, '100644')),
    'is as it was': many,
  };
  const decode = treeDecoder(20);
  decode(encodeTree(many));

  for (const [what, entries] of Object.entries(versions))
    test(`${what}, and is the same as decoded alone`, () => {
      const bytes = encodeTree(entries);
      expect(decode(bytes)).toEqual(decodeTree(bytes, 20));
      expect(decode(encodeTree(many))).toEqual(decodeTree(encodeTree(many), 20));
    });

  test('is refused if it is cut off, or if its rows do not begin where the other’s did', () => {
    const bytes = encodeTree(many);
    for (const length of [bytes.length - 1, bytes.length - 21, 4000])
      expect(() => decode(bytes.subarray(0, length))).toThrow(/truncated/);
    const torn = Buffer.concat([bytes.subarray(0, 4000), bytes.subarray(4003)]);
    expect(toOutcome(() => decode(torn))).toEqual(toOutcome(() => decodeTree(torn, 20)));
  });

  test('is not affected by changes to a returned array', () => {
    decode(encodeTree(many)).length = 0;
    expect(decode(encodeTree(many))).toHaveLength(many.length);
  });
});

function toOutcome(decode: () => TreeEntry[]): TreeEntry[] | string {
  try {
    return decode();
  } catch (error) {
    return String(error);
  }
}
