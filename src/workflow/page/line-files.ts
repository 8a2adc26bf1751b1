/** The files that a line has changed from its base to its tip, with what changed them on the way. */
import { nullIfDamaged } from '../../errors.ts';
import type { TreeChange } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { RepoPath } from '../../names.ts';
import { findOrigins, type FileStep } from '../../page/origins.ts';
import type { PageCommit, PageFile, PageLineFile, PageOrigin, PageTurn } from '../../page/session-page.ts';
import { groupBy } from '../../session/text/group-by.ts';
import { openTexts } from './page-texts.ts';
import type { PageStep, WalkedLine } from './walk-lines.ts';

/**
 * `changed`: the changes from the line's base to its tip. `turns` and `others` contain most of the diffs already.
 * Returns nothing when an object is missing.
 */
export async function readLineFiles(
  { repository: { store }, masker }: Project,
  line: WalkedLine,
  changed: readonly TreeChange[],
  { turns, others }: { turns: readonly PageTurn[]; others: readonly PageCommit[] },
): Promise<PageLineFile[]> {
  try {
    const whole = await openTexts(masker).diff(store, changed);
    const paths = new Set(changed.map(({ path }) => path));
    const changes = groupBy(listChanges(line, turns, paths), ({ change }) => change.path);
    const known = new Map([...turns, ...others].flatMap(({ files }) => files.map((file) => [toKey(file), file])));
    const files: PageLineFile[] = [];
    for (const [at, file] of whole.entries()) {
      const steps: FileStep<PageOrigin>[] = [];
      for (const { change, origin } of changes.get(changed[at]?.path as RepoPath) ?? []) {
        const [step] = [known.get(toKey(change)) ?? (await openTexts(masker).diff(store, [change]))].flat();
        if (step !== undefined) steps.push({ file: step, origin });
      }
      files.push({ ...file, by: [...new Set(steps.map(({ origin }) => origin))], made: findOrigins(file, steps) });
    }
    return files;
  } catch (error) {
    return nullIfDamaged(error) ?? [];
  }
}

function toKey({ before, after }: Pick<PageFile, 'before' | 'after'>): string {
  return `${before} ${after}`;
}

function listChanges({ all, turns }: WalkedLine, pageTurns: readonly PageTurn[], paths: ReadonlySet<RepoPath>) {
  const known = new Map<string, PageOrigin>();
  const named = new Map(pageTurns.map((one) => [one.turn, one]));
  // The code before a turn's message is the user's.
  const early = new Set(
    [...turns.values()].flatMap(({ steps }) =>
      steps.slice(
        0,
        Math.max(
          steps.findIndex(({ entry }) => entry?.kind === 'message'),
          0,
        ),
      ),
    ),
  );
  const toOrigin = (step: PageStep, path: RepoPath): PageOrigin => {
    const { commit, entry } = step;
    const turn = entry?.turn == null || early.has(step) ? undefined : turns.get(entry.turn)?.turn;
    if (turn === undefined) return { kind: 'commit', commit };
    if (entry?.kind === 'undo') return { kind: 'undo', turn };
    return { kind: 'turn', turn, action: named.get(turn)?.files.find((file) => file.path === path)?.action ?? null };
  };
  return all.flatMap((step) =>
    (step.changes ?? []).flatMap((change) => {
      if (!paths.has(change.path)) return [];
      const origin = toOrigin(step, change.path);
      const key = JSON.stringify(origin);
      known.set(key, known.get(key) ?? origin);
      return [{ change, origin: known.get(key) ?? origin }];
    }),
  );
}
