/** Notes on squashes: pull and sync copy a remote's, and nothing sends them. */
import { beforeEach, expect, test, vi } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { notesCopyRef, notesRef, type Oid } from '../../../src/names.ts';
import { addNoteLines } from '../../../src/workflow/line/notes.ts';
import { pullSessions } from '../../../src/workflow/sharing/pull-sessions.ts';
import { pushSessions } from '../../../src/workflow/sharing/push-sessions.ts';
import { syncSessions } from '../../../src/workflow/sharing/sync-sessions.ts';
import type { MemoryRemote } from '../../support/memory-remotes.ts';
import type { MemoryProject } from '../../support/memory-repository.ts';
import { create, start, turn } from '../../support/turns.ts';
import { expectNoQuarantine, makeClone, makeRemote, request } from './clones.ts';

const copy = notesCopyRef('origin');
let origin: MemoryRemote;
let ada: MemoryProject;

beforeEach(async () => {
  origin = await makeRemote();
  ada = await makeClone(origin, 'a');
});

/** Replaces the remote's notes. */
async function note(text: string): Promise<Oid> {
  const { store } = origin;
  await store.updateRefs([{ ref: notesRef, old: await store.readRef(notesRef), new: null }], 'test');
  const source = { repository: { store: { ...store, ident: ada.repository.store.ident } } } as unknown as Parameters<
    typeof addNoteLines
  >[0];
  await addNoteLines(source, notesRef, await ada.tipOf('main'), [text]);
  return (await store.readRef(notesRef)) as Oid;
}

const notesOf = async () => {
  const refs = await ada.repository.store.listRefs('refs/notes/');
  return Object.fromEntries(refs.map(({ ref, oid }) => [ref, oid]));
};

test.each([
  ['pull', pullSessions],
  ['sync', syncSessions],
])('%s copies the remote’s notes, as they are now, and leaves the notes here alone', async (_, share) => {
  await share(ada, request);
  expect(await notesOf()).toEqual({});
  const first = await note('First');
  await share(ada, { ...request, dryRun: true });
  expect(await notesOf()).toEqual({});
  await share(ada, request);
  expect(await notesOf()).toEqual({ [copy]: first });
  await ada.setRef(notesRef, await ada.tipOf('main'));
  const second = await note('Second');
  const { notes } = await share(ada, request);
  expect(await notesOf()).toEqual({ [copy]: second, [notesRef]: await ada.tipOf('main') });
  expect(notes).toEqual([]);
  const fetched = vi.spyOn(ada.repository.remotes, 'fetch');
  await share(ada, request);
  expect(fetched).not.toHaveBeenCalled();
  await expectNoQuarantine(ada);
});

test('neither push nor sync sends notes', async () => {
  const theirs = await note('Theirs');
  await addNoteLines(ada, notesRef, await ada.tipOf('main'), ['Mine']);
  await start(ada);
  await turn(ada, 'Make a.txt', create('a.txt'));
  await syncSessions(ada, request);
  await turn(ada, 'Make b.txt', create('b.txt'));
  await pushSessions(ada, request);
  expect(origin.pushed.flat().filter(({ ref }) => ref.startsWith('refs/notes/'))).toEqual([]);
  expect(await origin.store.readRef(notesRef)).toBe(theirs);
});

test('notes that cannot be fetched stop nothing: the user is told, and everything else is here', async () => {
  await note('First');
  const { remotes } = ada.repository;
  const { fetch } = remotes;
  remotes.fetch = async (remote, refs, options) => {
    if (refs.some(({ from }) => from === notesRef)) throw new TeddyError('REMOTE_UNREACHABLE', 'Gone.', 'Try again.');
    return fetch(remote, refs, options);
  };
  expect((await pullSessions(ada, request)).notes).toEqual(['refs/notes/teddy could not be fetched: Gone.']);
  expect(await notesOf()).toEqual({});
});
