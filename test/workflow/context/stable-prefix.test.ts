import { expect } from 'vitest';
import { memoryProject } from '../../support/memory-repository.ts';
import { create, planOf, run, say, session, start } from '../../support/turns.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { slowTest } from '../../support/slow-test.ts';

/** The requests for 40 turns. With `files`, each turn creates a file, which the next turns show. */
async function requestsOf({ contextTokens, files }: { contextTokens?: number; files: boolean }): Promise<string[]> {
  const project = await memoryProject({ 'README.md': '# Read me\n' });
  if (contextTokens !== undefined) project.configuration.set('teddy.contextTokens', String(contextTokens));
  await start(project);
  const requests: string[] = [];
  for (let number = 1; number <= 40; number += 1) {
    const text = `export const value = ${number};\n`.repeat(20);
    const plan = files ? planOf([create(`src/file-${number}.ts`, text)]) : `It is so:\n\n${text}`;
    await say(project, `Make file ${number}, ${'as said before, '.repeat(10)}please.`, scriptedModel(plan));
    const log =
      (await project.read(`.teddy/sessions/${session}/${String(number).padStart(2, '0')}/_context.log`)) ?? '';
    // Neither the front matter nor the first marker is sent.
    requests.push(log.slice(log.indexOf('-->\n') + 4));
    if (files) await run(project);
  }
  return requests;
}

function commonPrefix(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

/** The share of each request, except the first, that begins like the one before. */
function sharedPart(requests: string[]): { shared: number; bytes: number; breaks: number } {
  let [shared, bytes, breaks] = [0, 0, 0];
  for (const [at, request] of requests.entries()) {
    if (at === 0) continue;
    const before = requests[at - 1] ?? '';
    const common = commonPrefix(before, request);
    shared += common;
    bytes += request.length;
    // Everything before the tree stays the same, unless the history is cut.
    if (common < before.search(/^<!-- teddy-\S+ tree/m)) breaks += 1;
  }
  return { shared, bytes, breaks };
}

/** With PREFIX_REPORT=1 the numbers are printed. */
function measure(requests: string[]): ReturnType<typeof sharedPart> {
  const part = sharedPart(requests);
  if (process.env['PREFIX_REPORT'] !== undefined) console.log(part, part.shared / part.bytes);
  return part;
}

slowTest('a request begins like the one before, through all of its history', async () => {
  const { shared, bytes, breaks } = measure(await requestsOf({ files: true }));
  expect(breaks).toBe(0);
  expect(shared / bytes).toBeGreaterThan(0.6);
});

slowTest('a history is rarely cut, and requests begin alike between the cuts', async () => {
  const { shared, bytes, breaks } = measure(await requestsOf({ contextTokens: 8_000, files: false }));
  expect(breaks).toBeGreaterThan(0);
  expect(breaks).toBeLessThan(8);
  expect(shared / bytes).toBeGreaterThan(0.8);
});
