/** The server's record in memory: its claimant is alive. */
import { TeddyError } from '../../src/errors.ts';
import type { ServerRecord, ServerRecords } from '../../src/ports/disk.ts';

export function memoryServers(): ServerRecords {
  let record: ServerRecord | null = null;
  let isClaimed = false;
  return {
    path: '/repository/.git/teddy/server.json',
    read: async () => record,
    async claim() {
      if (isClaimed) throw new TeddyError('SERVER_RUNNING', `A server is running already: ${record?.url ?? ''}`);
      isClaimed = true;
      return {
        publish: async (published) => void (record = published),
        async release() {
          record = null;
          isClaimed = false;
        },
      };
    },
  };
}
