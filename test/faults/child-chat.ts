/**
 * Operations in conversations: each request that was sent, tool that ended and entry on the line is printed
 * immediately.
 */
import { openSource } from '../../src/app.ts';
import { appendRecords } from '../../src/workflow/line/append-records.ts';
import { importSession } from '../../src/workflow/conversation/import-session.ts';
import { converse, message, type ChatSceneName } from './chat-script.ts';
import { acknowledging, persist, type ChildOperation } from './child-task.ts';
import { passStep, print } from './fault-points.ts';
import { toSaid } from './say-race.ts';

const pieceMs = 5;

function chat(scene: ChatSceneName): ChildOperation {
  return acknowledging(async (project, { name }) => {
    const onAsked = (callIds: string[]) => {
      print({ line: 'asked', callIds });
      passStep('asked');
    };
    const outcome = await converse(project, { scene, name, pieceMs, onAsked }, message, ({ id }, { output }) => {
      print({ line: 'result', callId: id, output });
      passStep('heard');
    });
    if (outcome.kind !== 'answered') throw new Error(`The conversation has ended ${outcome.kind}.`);
    return outcome.commit;
  });
}

export const chatOperations: Record<ChatSceneName | 'say' | 'import', ChildOperation> = {
  chat: chat('chat'),
  'chat-write': chat('chat-write'),
  /** The name is the file's path. */
  import: acknowledging(async (project, { name }) => {
    const { signal } = new AbortController();
    return (await importSession(project, { source: await openSource(name, process.cwd()), signal })).commit;
  }),
  async say(project, { name, count }) {
    for (let number = 1; number <= count; number += 1) {
      const records = toSaid(name, number);
      const { commit } = await persist(() => appendRecords(project, { records }));
      print({ line: 'acknowledged', commit });
    }
  },
};
