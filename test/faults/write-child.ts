/**
 * The program that the faults of write sessions happen to: `write-child <operation> <repository> [count] [name]`, one write
 * session of the product in one process. What it is told of a save or a commit is printed at once.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openProject } from '../../src/app.ts';
import { TeddyError } from '../../src/errors.ts';
import type { StagedWrite } from '../../src/ports/disk.ts';
import type { Project } from '../../src/ports/project.ts';
import { appendWrite } from '../../src/workflow/writes/append.ts';
import { beginHeldWrite, beginWrite } from '../../src/workflow/writes/begin.ts';
import { cancelWrite } from '../../src/workflow/writes/cancel.ts';
import { finalizeHeld, finalizeWrite, type Finalized } from '../../src/workflow/writes/finalize.ts';
import type { HeldWrite } from '../../src/workflow/writes/held.ts';
import { heldDestination, receiveInto } from '../../src/workflow/writes/run-write.ts';
import { takeUpWrite } from '../../src/workflow/writes/recover.ts';
import { endChild } from './end-child.ts';
import { passStep, print } from './fault-points.ts';
import { contentOf, isWriteSceneName, writeWishes, type WriteScene } from './write-cases.ts';

const [, , operation = '', root = '', countText = '1', name = 'one', startAtMs = '0'] = process.argv;
const count = Number(countText);
const pieceMs = 15;

async function run(): Promise<void> {
  const opened = await openProject({
    cwd: root,
    env: process.env,
    notices: { info: () => undefined, warn: (text) => print({ line: 'warned', text }) },
    onStep: passStep,
  });
  // Each piece of a file is saved at once.
  const project = { ...opened, writeLimits: { ...opened.writeLimits, saveLines: 1, saveGapMs: 1 } };
  try {
    // Those of a race begin together.
    await sleep(Math.max(0, Number(startAtMs) - Date.now()));
    await act(project);
  } finally {
    await project.repository.close();
  }
}

async function act(project: Project): Promise<void> {
  if (operation === 'race-begin') return raceToBegin(project);
  if (operation === 'write-and-leave') return void (await beginAndAppend(project, writeWishes['write-create']));
  if (operation === 'finalize') return report(await finalizeWrite(project, { id: name }));
  if (!isWriteSceneName(operation)) throw new Error(`There is no operation ${operation}.`);
  const wish = writeWishes[operation];
  if (operation === 'write-one-shot') return writeInCommands(project, wish);
  if (operation === 'write-cancel') return beginAndCancel(project, wish);
  if (operation === 'write-left') return goOn(project, wish);
  return writeStream(project, wish);
}

/** Writes the way a controller does, which receives the content itself. */
async function writeStream(project: Project, wish: WriteScene): Promise<void> {
  const { held } = await beginHeldWrite(project, toRequest(wish, true));
  print({ line: 'begun', id: held.record.id });
  await finishStream(project, held, wish.pieces);
}

/** Goes on after another process: the pieces that it had no confirmation of come again. */
async function goOn(project: Project, wish: WriteScene): Promise<void> {
  const [found] = await project.writes.list();
  const held = await takeUpWrite(project, found?.id ?? '');
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

/** Writes the way separate commands do, or the calls of the API. */
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

/** Against one other process, `count` times: both begin, and whoever could ends it when both have tried. */
async function raceToBegin(project: Project): Promise<void> {
  for (let round = 1; round <= count; round += 1) {
    await meet(`${round}-start`);
    const id = await tryToBegin(project);
    await meet(`${round}-end`);
    if (id !== null) await cancelWrite(project, id);
    await meet(`${round}-over`);
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

/** Goes on when the other process has come here as well. */
async function meet(place: string): Promise<void> {
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

void endChild(run);
