/** Renders the parts that `teddy init` sets up: for a program, as a plan with diffs, and as the end of a question. */
import type { Change, FileChange, Step } from '../../ports/setup.ts';
import { renderUnifiedDiff } from '../../plan/match/diff.ts';
import type { Masker } from '../../ports/project.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import type { PlannedPart } from '../../workflow/setup/set-up.ts';
import { errorDocument } from './error.ts';

type Diffs = ReadonlyMap<Change, string>;

/** Renders each file's diff. Settings of other programs may contain secrets, which are masked. */
export async function renderDiffs(planned: readonly PlannedPart[], masker: Masker): Promise<Diffs> {
  const diffs = new Map<Change, string>();
  for (const change of planned.flatMap(({ plan }) => stepsOf(plan)).flatMap(({ changes }) => changes))
    if (isFile(change)) diffs.set(change, (await masker.mask(renderDiff(change), change.path)).text);
  return diffs;
}

export function toPartJson({ part, state, why, plan, error }: PlannedPart, taken: ReadonlySet<Step>, diffs: Diffs) {
  return {
    name: part.name,
    state,
    why,
    steps: stepsOf(plan).map((step) => ({
      does: step.does,
      isUsual: step.isExtra !== true,
      isDone: taken.has(step),
      changes: step.changes.map((change) =>
        isFile(change) ? { path: change.path, change: kindOf(change), diff: diffs.get(change) ?? '' } : change,
      ),
    })),
    notes: plan.filter((one) => typeof one === 'string'),
    error: error && errorDocument(error),
  };
}

/** Returns the steps, and the second questions after them. */
export function stepsOf(plan: PlannedPart['plan']): Step[] {
  return plan.flatMap((one) => (typeof one === 'string' ? [] : one.next === undefined ? [one] : [one, one.next]));
}

function isFile(change: Change): change is FileChange {
  return 'path' in change;
}

function kindOf({ before, after }: FileChange): string {
  return before === null ? 'creates' : after === null ? 'removes' : 'changes';
}

/** Shortens an absolute path for a person. */
export type Shorten = (text: string) => string;

/** Returns a description such as `creates .mcp.json; sets teddy.capture`. */
export function describeChanges(changes: readonly Change[], shorten: Shorten): string {
  const files = changes.filter(isFile);
  const kinds = [...new Set(files.map(kindOf))];
  const named = kinds.map((kind) => {
    const paths = files.filter((file) => kindOf(file) === kind).map(({ path }) => path);
    const directories = new Set(paths.map((path) => path.slice(0, path.lastIndexOf('/'))));
    const [directory = ''] = directories;
    const isMany = paths.length > 2 && directories.size === 1;
    return `${kind} ${isMany ? `${paths.length} files in ${directory}` : nameSome(paths)}`;
  });
  const others = changes.flatMap((change) => (isFile(change) ? [] : [change.what]));
  return toVisible(shorten([...named, ...others].join('; ')));
}

function renderDiff({ path: whole, before, after }: FileChange): string {
  const path = whole.replace(/^\//, '');
  if (after !== null) return renderUnifiedDiff(path, before, after);
  return renderUnifiedDiff(path, before, new Uint8Array()).replace(/^\+\+\+ .*$/m, '+++ /dev/null');
}

export function renderPlan(
  planned: readonly PlannedPart[],
  { diffs, shorten }: { diffs?: Diffs; shorten: Shorten },
): string {
  const rows = planned.map(({ part, state, why, plan, error }) => {
    const head = `${part.name.padEnd(8)} ${stateWords[state]}${why === null ? '' : `: ${why}`}\n`;
    const told = plan.filter((one) => typeof one === 'string' && one !== why);
    if (error !== null) told.push(`${error.message} ${error.hint ?? ''}`.trim());
    const done = stepsOf(plan).map((one) => {
      const text = `${one.does}${one.isExtra === true ? ' (only if you say yes)' : ''}`;
      const files = one.changes.map((change) => diffs?.get(change) ?? '').join('');
      const changes = describeChanges(one.changes, shorten);
      return `         ${text}${changes === '' ? '' : `: ${changes}`}.\n${files}`;
    });
    return [head, ...told.map((one) => `         ${String(one)}\n`), ...done].join('');
  });
  return toVisible(rows.join(''));
}

const stateWords: Record<PlannedPart['state'], string> = {
  'set-up': 'set up',
  partly: 'damaged',
  missing: 'not set up',
  'not-applicable': 'not here',
};
