/** Operations on write sessions: each acknowledged save or commit is printed immediately. */
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { TeddyError } from '../../src/errors.ts';
import type { StagedWrite } from '../../src/ports/disk.ts';
import type { Project } from '../../src/ports/project.ts';
import { appendWrite } from '../../src/workflow/writes/append.ts';
import { beginHeldWrite, beginWrite } from '../../src/workflow/writes/begin.ts';
import { cancelWrite } from '../../src/workflow/writes/clean.ts';
import { finalizeHeld, finalizeWrite, type Finalized } from '../../src/workflow/writes/finalize.ts';
import type { HeldWrite } from '../../src/workflow/writes/held.ts';
import { heldDestination, receiveInto } from '../../src/workflow/writes/run-write.ts';
import { claimWrite } from '../../src/workflow/writes/recover.ts';
import type { ChildOperation, ChildTask } from './child-task.ts';
import { print } from './fault-points.ts';
import { contentOf, writeWishes, type WriteScene, type WriteSceneName } from './write-cases.ts';

const pieceMs = 15;

const operationOf = (scene: WriteSceneName): ChildOperation => {
  const wish = writeWishes[scene];
  if (scene === 'write-one-shot') return (project) => writeInCommands(project, wish);
  if (scene === 'write-cancel') return (project) => beginAndCancel(project, wish);
  if (scene === 'write-left') return (project) => goOn(project, wish);
  return (project) => writeStream(project, wish);
};

/** Writes like a controller that receives the content itself. */
async function writeStream(project: Project, wish: WriteScene): Promise<void> {
  const { held } = await beginHeldWrite(project, toRequest(wish, true));
  print({ line: 'begun', id: held.record.id });
  await finishStream(project, held, wish.pieces);
}

/** Continues after another process: the unconfirmed pieces are sent again. */
async function goOn(project: Project, wish: WriteScene): Promise<void> {
  const [found] = await project.writes.list();
  const held = await claimWrite(project, found?.id ?? '');
  print({ line: 'begun', id: held.record.id });
  const rest = contentOf(wish).slice(held.write.state.size);
  await finishStream(project, held, [rest.slice(0, 100), rest.slice(100)]);
}

async function finishStream(project: Project, held: HeldWrite, pieces: string[]): Promise<void> {
  announceSaves(held.staged);
  try {
    const { signal } = new AbortController();
    const destination = heldDestination(project, held, { isOfModel: false, signal });
    await receiveInto(project, destination, toSource([...pieces, `${held.record.endMarker}\n`]), {
      isRestart: false,
      isAnswer: false,
      signal,
      onPrompt: () => undefined,
    });
    report(await finalizeHeld(project, held));
  } finally {
    await held.staged.close();
  }
}

async function* toSource(pieces: string[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    yield Buffer.from(piece);
    await sleep(pieceMs);
  }
}

function announceSaves(staged: StagedWrite): void {
  const save = staged.save.bind(staged);
  staged.save = async (bytes, state) => {
    await save(bytes, state);
    print({ line: 'saved', size: state.size });
  };
}

/** Writes like separate commands, or like calls to the API. */
async function writeInCommands(project: Project, wish: WriteScene): Promise<void> {
  const id = await beginAndAppend(project, wish);
  const content = wish.replacement === null ? undefined : Buffer.from(wish.replacement);
  report(await finalizeWrite(project, { id, content }));
}

async function beginAndCancel(project: Project, wish: WriteScene): Promise<void> {
  await cancelWrite(project, await beginAndAppend(project, wish));
  print({ line: 'acknowledged', commit: 'cancelled' });
}

async function beginAndAppend(project: Project, wish: WriteScene): Promise<string> {
  const { record } = await beginWrite(project, toRequest(wish, false));
  const { id } = record;
  print({ line: 'begun', id });
  for (const piece of wish.pieces) {
    const { size } = await appendWrite(project, { id, bytes: Buffer.from(piece) });
    print({ line: 'saved', size });
  }
  return id;
}

/** Against one other process, `count` times: both begin, and the successful one ends it when both have tried. */
async function raceToBegin(project: Project, task: ChildTask): Promise<void> {
  for (let round = 1; round <= task.count; round += 1) {
    await meet(task, `${round}-start`);
    const id = await tryToBegin(project);
    await meet(task, `${round}-end`);
    if (id !== null) await cancelWrite(project, id);
    await meet(task, `${round}-over`);
  }
  print({ line: 'acknowledged', commit: 'over' });
}

async function tryToBegin(project: Project): Promise<string | null> {
  try {
    const { record } = await beginWrite(project, toRequest(writeWishes['write-create'], false));
    print({ line: 'begun', id: record.id });
    return record.id;
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code !== 'WRITE_ACTIVE') throw error;
    print({ line: 'refused', code: error.code });
    return null;
  }
}

/** Continues when the other process has reached this point as well. */
async function meet({ root, name }: ChildTask, place: string): Promise<void> {
  const at = (who: string) => `${root}.${who}-${place}`;
  writeFileSync(at(name), '');
  while (!existsSync(at(name === 'one' ? 'two' : 'one'))) await sleep(1);
}

function toRequest({ target, operation: kind }: WriteScene, hasController: boolean) {
  return { intent: 'faults are tested', target, operation: kind, hasController };
}

function report(finalized: Finalized): void {
  if (!finalized.isWritten) throw new TeddyError('VALIDATION_FAILED', finalized.message);
  print({ line: 'acknowledged', commit: finalized.result.commit });
}

export const writeOperations: Record<string, ChildOperation> = {
  ...Object.fromEntries((Object.keys(writeWishes) as WriteSceneName[]).map((scene) => [scene, operationOf(scene)])),
  'race-begin': raceToBegin,
  'write-and-leave': async (project) => void (await beginAndAppend(project, writeWishes['write-create'])),
  finalize: async (project, { name }) => report(await finalizeWrite(project, { id: name })),
};
