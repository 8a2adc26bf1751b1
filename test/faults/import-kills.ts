/** Checks a killed import: there is no session, or a complete one; and one after the next import. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openProject, openSource } from '../../src/app.ts';
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import { encodeRecord } from '../../src/conversation/records/transcript.ts';
import { importSession } from '../../src/workflow/conversation/import-session.ts';
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { checkHistories } from './check-histories.ts';
import { findLeftovers } from './check-run.ts';
import type { ChatStage } from './chat-scenes.ts';
import type { ChildRun } from './run-child.ts';
import { toSaid } from './say-race.ts';
import { readStatus, type Scene } from './scenes.ts';
import { sweepWith, type CheckOutcome, type Job, type Tally } from './sweep.ts';

const count = 600;

/** The texts of the units in the source. */
const wanted = Array.from({ length: count }, (_, at) => toSaid('imported', at + 1)).flat();

export interface ImportScene extends Scene {
  source: string;
}

export async function openImportScene({ scenes: { chat } }: ChatStage): Promise<ImportScene> {
  const source = `${chat.template}.jsonl`;
  await writeFile(source, wanted.map(encodeRecord).join(''));
  return { ...chat, operation: 'import', source };
}

export async function killImports(
  stage: ChatStage,
  scene: ImportScene,
  jobs: Job[],
  tally: Tally,
  checkOutcome: CheckOutcome,
): Promise<void> {
  const named = jobs.map((job) => ({ ...job, name: scene.source }));
  await sweepWith(stage, named, tally, checkOutcome, (_, ...args) => checkImport(scene, ...args));
}

export async function checkImport(
  scene: ImportScene,
  repository: ScratchRepository,
  { acknowledged }: Pick<ChildRun, 'acknowledged'>,
): Promise<string[]> {
  const problems: string[] = [];
  const expectThat = (isTrue: boolean, what: string) => void (isTrue || problems.push(what));
  const check = async (when: string, least: number): Promise<string[]> => {
    const lines = await readLines(scene, repository);
    expectThat(lines.length <= 1 && lines.length >= least, `${when}: imported as ${lines.join()}`);
    for (const line of lines) problems.push(...(await findMissing(repository, line)).map((what) => `${when}: ${what}`));
    const status = await readStatus(repository);
    expectThat(status.join() === scene.status.join(), `${when}: git status shows ${status.join(' | ')}`);
    expectThat((await repository.git('rev-parse', 'HEAD')) === scene.oldTip, `${when}: HEAD is another one`);
    return lines;
  };
  const before = await check('after the kill', acknowledged.length);
  const notices = { info: () => undefined, warn: () => undefined };
  const project = await openProject({ cwd: repository.root, env: process.env, notices });
  try {
    const { signal } = new AbortController();
    const next = await importSession(project, { source: await openSource(scene.source, repository.root), signal });
    expectThat(next.isNew === (before.length === 0), `the next import is ${next.isNew ? '' : 'not '}a new one`);
    const [line = ''] = await check('after the next import', 1);
    expectThat(next.commit === (await repository.git('rev-parse', line)), 'the next import names another commit');
    problems.push(...(await checkHistories(project, repository, { ...scene, ref: line, oldTip: `${line}~1` })));
  } finally {
    await project.repository.close();
  }
  problems.push(...(await findLeftovers(repository)), ...(await findBarePacks(repository)));
  await repository.fsck().catch((error: Error) => problems.push(error.message));
  return problems;
}

/** A pack without an index is invisible, and git removes none that has its final name. */
async function findBarePacks({ root }: ScratchRepository): Promise<string[]> {
  const names = await readdir(join(root, '.git/objects/pack'));
  const bare = names.filter((name) => name.endsWith('.pack') && !names.includes(name.replace(/pack$/, 'idx')));
  return bare.map((name) => `${name} has no index`);
}

/** The new branches. */
async function readLines({ ref }: Scene, repository: ScratchRepository): Promise<string[]> {
  const refs = (await repository.git('for-each-ref', '--format=%(refname)', 'refs/heads/teddy/')).split('\n');
  return refs.filter((one) => one !== ref && one !== 'refs/heads/teddy/global');
}

async function findMissing(repository: ScratchRepository, line: string): Promise<string[]> {
  const paths = (await repository.git('ls-tree', '-r', '--name-only', line)).split('\n');
  const session = line.replace('refs/heads/teddy/', '');
  const own = paths.filter(
    (path) => path.startsWith(`.teddy/sessions/${session}/`) && path.endsWith('/transcript.jsonl'),
  );
  const text = own.length === 0 ? '' : await repository.git('show', ...own.map((path) => `${line}:${path}`));
  const texts = decodeTranscript(text).records.map((record) => JSON.stringify(record));
  const missing = wanted.filter(({ id }) => texts.filter((one) => one.includes(`"id":"${id}"`)).length !== 1);
  return missing.length === 0
    ? []
    : [`of ${wanted.length} records ${missing.length} are not there once, as ${missing[0]?.id}`];
}
