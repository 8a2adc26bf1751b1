/** Any change to published files is found, even if its author rebuilds all later commits to fit. */
import * as fc from 'fast-check';
import { beforeAll, expect } from 'vitest';
import { turnOfPath } from '../../../src/session/lines/line-paths.ts';
import type { Oid, RepoPath } from '../../../src/names.ts';
import { listRecorded, type RecordedLine } from '../../../src/workflow/line/find-recorded.ts';
import { verifyLine } from '../../../src/workflow/verify/line.ts';
import type { MemoryProject } from '../../support/memory-repository.ts';
import { recordedSession } from '../../support/recorded-session.ts';
import { flip, listSteps, tamper, type Tampering } from '../../support/tampering.ts';
import { runs } from '../../support/runs.ts';
import { slowTest } from '../../support/slow-test.ts';

interface Published {
  /** Not all of it, but a few commits after `at`. */
  line: RecordedLine;
  /** The entry that brings the file. */
  at: Oid;
  path: RepoPath;
  bytes: Uint8Array;
}

/** Enough to reach the next turn's log. */
const laterCommits = 8;

let project: MemoryProject;
const published: Published[] = [];

beforeAll(async () => {
  project = await recordedSession();
  const { store } = project.repository;
  for (const line of await listRecorded(project)) {
    const steps = await listSteps(project, line.tip);
    for await (const { oid, changes } of store.walkChanges(line.tip, [])) {
      const at = steps.findIndex((step) => step.oid === oid);
      const { entry } = steps[at] ?? { entry: null };
      // A conversation branch's log belongs to another entry, which it does not name.
      if (entry === null || entry.kind === 'branch') continue;
      const tip = steps[Math.min(at + laterCommits, steps.length - 1)]?.oid ?? line.tip;
      for (const { path, after } of changes)
        if (after !== null && turnOfPath(line.session, path) !== null)
          published.push({ line: { ...line, tip }, at: oid, path, bytes: await store.readBlob(after) });
    }
  }
});

type Kind = 'byte' | 'removal' | 'mode' | 'trailer';

function change({ path, bytes }: Published, kind: Kind, place: number): Tampering {
  switch (kind) {
    case 'byte':
      // The logs that show a transcript are compared with its words, but not with its other fields.
      return path.endsWith('.jsonl')
        ? { path, bytes: bytes.subarray(1) }
        : { path, bytes: flip(bytes, place % bytes.length) };
    case 'removal':
      return { path, bytes: null };
    case 'mode':
      return { path, bytes, mode: '100755' };
    case 'trailer':
      return { path, bytes, message: (message) => changeTrailer(message, place) };
  }
}

/** Another character in the value of one of the trailers that bind an entry to its place and its files. */
function changeTrailer(message: string, place: number): string {
  const found = [...message.matchAll(/^Teddy-(?:Session|Entry|Turn|Created|Status|Sha256|Format): (.)/gm)];
  const one = found[place % found.length];
  if (one === undefined) throw new Error('The entry has no trailer.');
  const at = one.index + one[0].length - 1;
  return `${message.slice(0, at)}${message[at] === '3' ? '4' : '3'}${message.slice(at + 1)}`;
}

slowTest('one byte, a file, a mode or a trailer, anywhere on any line', async () => {
  const kind = fc.constantFrom<Kind>('byte', 'removal', 'mode', 'trailer');
  await fc.assert(
    fc.asyncProperty(fc.nat(), kind, fc.nat(), async (which, what, place) => {
      const one = published[which % published.length];
      if (one === undefined) throw new Error('Nothing is published.');
      const tip = await tamper(project, one.line.tip, one.at, [change(one, what, place)]);
      const below = (await project.repository.store.readCommit(one.at)).parents;
      const { violations } = await verifyLine(project, { ...one.line, tip }, { known: below });
      expect(violations, `${what} of ${one.path} in ${one.at}`).not.toEqual([]);
      const first = (await listNew(tip, below))[0];
      const named = violations.some(({ path, commit }) => path === one.path || commit === first);
      expect(named, `${what} of ${one.path} in ${one.at}: ${JSON.stringify(violations)}`).toBe(true);
    }),
    { ...runs(25), endOnFailure: true },
  );
});

/** Oldest first. */
async function listNew(tip: Oid, not: Oid[]): Promise<Oid[]> {
  const found: Oid[] = [];
  for await (const { oid } of project.repository.store.firstParents(tip, not)) found.unshift(oid);
  return found;
}
