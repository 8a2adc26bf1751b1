/**
 * The program that the faults of conversations happen to: `chat-child <operation> <repository> [count] [name]`. What has left,
 * has ended or is on the line is printed at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openProject, openSource } from '../../src/app.ts';
import { TeddyError } from '../../src/errors.ts';
import type { Project } from '../../src/ports/project.ts';
import { appendRecords } from '../../src/workflow/line/append-records.ts';
import { importSession } from '../../src/workflow/conversation/import-session.ts';
import { converse, message, type ChatSceneName } from './chat-script.ts';
import { endChild } from './end-child.ts';
import { passStep, print } from './fault-points.ts';
import { toSaid } from './say-race.ts';

const [, , operation = '', root = '', countText = '1', name = 'one', startAtMs = '0'] = process.argv;
const pieceMs = 5;

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
    if (operation === 'say') await sayAll(project);
    else if (operation === 'import') await importFile(project);
    else await chat(project, operation as ChatSceneName);
  } finally {
    await project.repository.close();
  }
}

async function chat(project: Project, scene: ChatSceneName): Promise<void> {
  const onAsked = (callIds: string[]) => {
    print({ line: 'asked', callIds });
    passStep('asked');
  };
  const outcome = await converse(project, { scene, name, pieceMs, onAsked }, message, ({ id }, { output }) => {
    print({ line: 'result', callId: id, output });
    passStep('heard');
  });
  if (outcome.kind !== 'answered') throw new Error(`The conversation has ended ${outcome.kind}.`);
  print({ line: 'acknowledged', commit: outcome.commit });
}

/** The name is the path of what is imported. */
async function importFile(project: Project): Promise<void> {
  const { commit } = await importSession(project, {
    source: await openSource(name, process.cwd()),
    signal: new AbortController().signal,
  });
  print({ line: 'acknowledged', commit });
}

async function sayAll(project: Project): Promise<void> {
  for (let number = 1; number <= Number(countText); number += 1) {
    const records = toSaid(name, number);
    const { commit } = await persist(() => appendRecords(project, { records }));
    print({ line: 'acknowledged', commit });
  }
}

/** A refusal has changed nothing, and says to try again. */
async function persist<Result>(act: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof TeddyError) || !['REF_MOVED', 'LOCKED'].includes(error.code)) throw error;
      print({ line: 'refused', code: error.code });
    }
  }
}

void endChild(run);
