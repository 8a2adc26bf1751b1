import { utimes } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openCapturedProject, type CapturedProject } from '../support/captured-project.ts';
import { requireAgent, type RunningAgent } from '../support/real-agent.ts';

const agent = requireAgent();
const kills = Number(process.env['AGENT_KILLS'] ?? '200');
const seed = Number(process.env['AGENT_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
let project: CapturedProject;

beforeEach(async () => {
  project = await openCapturedProject(agent);
});
afterEach(() => project.close());

/** The same numbers for the same seed; below `most`. */
function openRandom(start: number): (most: number) => number {
  let state = start;
  return (most) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * most);
  };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function killDrainer(): Promise<boolean> {
  const pid = await project.drainer();
  if (pid === null) return false;
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    // It has just ended on its own.
    return false;
  }
}

describe(`${agent.name} ${agent.version}, killed at any time`, () => {
  test(
    `loses nothing in its log, and repeats nothing, over ${kills} kills (AGENT_SEED=${seed})`,
    async () => {
      const random = openRandom(seed);
      // Gemini CLI deletes logs of killed sessions when it starts again, perhaps before anybody has read them.
      const deleted = new Map<string, string>();
      const readLogs = async () => {
        const found = await agent.logs(project.home);
        for (const { path, text } of found) deleted.set(path, text);
        return found;
      };
      let killed = 0;
      let drainers = 0;
      for (let round = 1; killed < kills; round += 1) {
        const number = round.toString(16).padStart(4, '0');
        const says = `say-${number} Some words that take a while. `.repeat(3);
        const call = `echo call-${number} | sed s/call/out/; sleep 0.1`;
        project.model.script(`K${number}`, [
          { says: `say-${number}1`, runs: call },
          { says, chunkDelayMs: 15 },
        ]);
        // A new session, or one that continues after a kill.
        const known = await readLogs();
        const resume = random(3) === 0 ? known[random(known.length)]?.id : undefined;
        const run: RunningAgent = project.run({
          prompt: `K${number} ask-${number} Go.`,
          ...(resume === undefined ? {} : { resume }),
        });
        let isOver = false;
        void run.result.then(() => (isOver = true));
        // About one in four ends on its own.
        const untilMs = Date.now() + 300 + random(2500);
        while (!isOver && Date.now() < untilMs) {
          await sleep(20);
          if (random(25) === 0 && (await killDrainer())) drainers += 1;
        }
        if (!isOver) killed += 1;
        run.kill((['SIGKILL', 'SIGKILL', 'SIGINT', 'SIGTERM'] as const)[random(4)] ?? 'SIGKILL');
        await run.result;
        if (random(2) === 0 && (await killDrainer())) drainers += 1;
      }
      await killDrainer();
      // A call without a result may still be running, for ten minutes: an hour has passed since.
      const then = new Date(Date.now() - 3_600_000);
      for (const { path } of await readLogs()) await utimes(path, then, then);
      const swept = await project.teddy('capture', 'sweep', '--since', '7d', '--json');
      expect(JSON.parse(swept.stdout)).toMatchObject({ problems: [] });
      const expected = await project.expectAllOnce({ deleted: [...deleted.values()] });
      console.log(
        `${killed} agents and ${drainers} drainers killed; ${expected.length} texts and calls, each there once.`,
      );
      // Another sweep finds nothing.
      const lines = await project.repo.git('for-each-ref', 'refs/heads/teddy');
      await project.teddy('capture', 'sweep', '--since', '7d');
      expect(await project.repo.git('for-each-ref', 'refs/heads/teddy')).toBe(lines);
      await project.expectUntouched();
    },
    60 * 60_000,
  );
});
