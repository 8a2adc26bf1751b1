/** Every writing verb, beside a git that packs and prunes all the time. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openChatStage, type ChatStage } from './chat-scenes.ts';
import { emptyGcTally, reportGc, runBesideGc } from './gc.ts';
import { openStage, otherScenes, type Scene, type Stage } from './scenes.ts';
import { openSyncStage, type SyncStage } from './sync-scenes.ts';
import { openWriteStage, type WriteStage } from './write-scenes.ts';

const appends = Number(process.env['FAULT_GC_APPENDS'] ?? 300);
const rounds = Number(process.env['FAULT_GC_ROUNDS'] ?? 8);

let stage: Stage;
let chat: ChatStage;
let writes: WriteStage;
let sharing: SyncStage;
beforeAll(async () => {
  stage = await openStage();
  chat = await openChatStage();
  writes = await openWriteStage();
  sharing = await openSyncStage();
}, 300_000);
afterAll(() => Promise.all([stage, chat, writes, sharing].map((one) => one.close())));

test('none of a thousand writes fails beside git gc', async () => {
  const tally = emptyGcTally();
  const repeated = ['append-on-line', 'append-off-line'] as const;
  for (const name of repeated) await runBesideGc(stage, stage.scenes[name], appends, tally);
  await runBesideGc(chat, chat.scenes.chat, appends, tally);
  const all: [copies: Stage | WriteStage | SyncStage, scenes: Scene[]][] = [
    [stage, otherScenes(stage).filter(({ operation }) => operation !== 'append')],
    [writes, Object.values(writes.scenes)],
    [sharing, Object.values(sharing.scenes)],
  ];
  for (let round = 1; round <= rounds; round += 1)
    for (const [copies, scenes] of all) for (const scene of scenes) await runBesideGc(copies, scene, 1, tally);
  reportGc(tally);
  expect(tally.failures).toEqual([]);
});
