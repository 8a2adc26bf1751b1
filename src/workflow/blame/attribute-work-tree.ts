/** Attributes the lines of a file on disk: a line missing from HEAD may be a turn's, as the file's newest snapshot shows. */
import { tooShortError } from '../../errors.ts';
import { decodeText } from '../../session/text/bytes.ts';
import { listKept } from '../../plan/match/diff.ts';
import type { Repository } from '../../ports/git.ts';
import type { RepoPath } from '../../names.ts';
import {
  attributeLines,
  joinRuns,
  openTracing,
  toLines,
  type Attributed,
  type Tracing,
  type AttributeQuery,
  type AttributedRun,
} from './attribute-lines.ts';
import type { CodeStep } from './code-steps.ts';
import { byTime, dropFound } from './same-content.ts';

interface WorkTreeSource {
  repository: Pick<Repository, 'store' | 'blame' | 'cache' | 'workspace'>;
}

/** When `isTracked`, git blames the file on disk. Throws the errors of `attributeLines`. */
export async function attributeWorkTree(
  source: WorkTreeSource,
  query: Omit<AttributeQuery, 'commit'>,
  { isTracked }: { isTracked: boolean },
): Promise<Attributed> {
  const { path } = query;
  const tracing = await openTracing(source, null);
  const text = decodeText((await source.repository.workspace?.readDisk(path)) ?? new Uint8Array()) ?? '';
  const { runs } = isTracked ? await attributeLines(source, { ...query, commit: null }, tracing) : toRuns(text, query);
  const known = tracing.known;
  const open = runs.filter(({ author }) => author.kind === 'uncommitted').flatMap(toLines);
  const snapshot = open.length === 0 ? null : await findSnapshot(source, tracing, path);
  if (snapshot === null) return { runs, known };
  const before = decodeText((await source.repository.store.readFile(snapshot.oid, path))?.bytes ?? new Uint8Array());
  const kept = listKept(before ?? '', text, maxChanged);
  const ranges = open.flatMap(({ line }) => {
    const was = kept.get(line);
    return was === undefined ? [] : [[was, was] as const];
  });
  if (ranges.length === 0) return { runs, known };
  const there = { path, commit: snapshot.oid, ranges: ranges.length > maxRanges ? [] : ranges };
  const traced = (await attributeLines(source, there, { ...tracing, head: snapshot.oid })).runs.flatMap(toLines);
  const authors = new Map(traced.map((run) => [run.line, run]));
  const toAuthor = (run: AttributedRun): AttributedRun => {
    const found = authors.get(kept.get(run.line) ?? 0);
    if (run.author.kind !== 'uncommitted' || found === undefined) return run;
    const { author, originalLine, path: name } = found;
    if (author.kind !== 'person') return { ...run, author, originalLine, path: name, uncommitted: true };
    return { ...run, author: { kind: 'uncommitted', isOwn: author.step !== null } };
  };
  return { runs: joinRuns(runs.flatMap(toLines).map(toAuthor)), known };
}

/**
 * With more ranges, reading only these is no faster than reading the whole file; with more changed lines, teddy skips
 * the comparison.
 */
const [maxRanges, maxChanged] = [200, 2_000];

function toRuns(text: string, { path, ranges }: Pick<AttributeQuery, 'path' | 'ranges'>): { runs: AttributedRun[] } {
  const texts = text.replace(/\n$/, '').split('\n');
  const count = text === '' ? 0 : texts.length;
  if (ranges.some(([, end]) => end > count)) throw tooShortError(path, count);
  const wanted = count === 0 ? [] : ranges.length === 0 ? [[1, count] as const] : ranges;
  const author = { kind: 'uncommitted' as const, isOwn: false };
  return {
    runs: wanted.map(([line, end]) => ({ author, line, originalLine: line, path, texts: texts.slice(line - 1, end) })),
  };
}

/**
 * Returns the step that introduced the file's version in its newest snapshot, considering only snapshots based on
 * commits that HEAD contains. Returns null when there is no such snapshot, or when the file did not exist in it.
 */
export async function findSnapshot(
  source: WorkTreeSource,
  { head, known, index }: Pick<Tracing, 'head' | 'known' | 'index'>,
  path: RepoPath,
): Promise<CodeStep | null> {
  const { store } = source.repository;
  const blobOf = ({ files }: CodeStep) => files.find((file) => file.path === path)?.blob ?? null;
  const all = (index().byPath.get(path) ?? []).filter(
    ({ kind, session }) => kind === 'snapshot' && known.agents.has(session),
  );
  for (const step of all.toSorted(byTime).toReversed()) {
    const isBelow = head === null || step.head === null ? head === step.head : await store.isAncestor(step.head, head);
    if (!isBelow) continue;
    const blob = blobOf(step);
    const same =
      blob === null
        ? []
        : await dropFound(
            source,
            index(),
            path,
            all.filter((one) => blobOf(one) === blob),
          );
    return same[0] ?? null;
  }
  return null;
}
