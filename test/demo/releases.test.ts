/** The installed package on the other releases of Node that it supports. They come from the registry. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fetchNode, installPacked, playSession, type PackedTeddy } from '../support/packed-teddy.ts';

let installed: PackedTeddy;

beforeAll(async () => {
  installed = await installPacked();
});
afterAll(() => installed.close());

test.for([20, 22, 24])(
  'a session begins, is planned, executed and landed on Node %i',
  { timeout: 300_000 },
  async (release, context) => {
    const node = await fetchNode(release);
    if ('reason' in node) return context.skip(`Node ${release} cannot be fetched: ${node.reason}`);
    expect(await playSession(installed, node.path)).toBe('Hello\n');
  },
);
