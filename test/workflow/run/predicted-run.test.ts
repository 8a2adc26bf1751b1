/** A preview must predict the run: the same plan is previewed, then run, and both must give the same files. */
import { applyPatch } from 'diff';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { RepoPath } from '../../../src/names.ts';
import { previewPlan, type PlanPreview } from '../../../src/workflow/run/preview-plan.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { run } from '../../support/turns.ts';
import { runs } from '../../support/runs.ts';
import { slowTest } from '../../support/slow-test.ts';

type Content = Record<string, string | null>;

/** Lines, each with its line ending. */
type Lines = string[];

/** `d` and `a.txt/deep` become a directory and a path below a file as soon as the others exist. */
const paths = ['a.txt', 'b.txt', 'd/c.txt', 'd', 'a.txt/deep', 'd/new.txt'];

const line = fc.constantFrom('x', 'y', ' x', 'x y', 'z', '');
const toLines = (texts: string[]): Lines => texts.map((text) => `${text}\n`);
const lines = fc.array(line, { maxLength: 3 }).map(toLines);
const someLines = fc.array(line, { minLength: 1, maxLength: 4 }).map(toLines);
const fileText = fc
  .record({
    texts: fc.array(line, { minLength: 1, maxLength: 5 }),
    ending: fc.constantFrom('\n', '\n', '\r\n'),
    isEnded: fc.boolean(),
    mark: fc.constantFrom('', '', '\uFEFF'),
  })
  .map(({ texts, ending, isEnded, mark }) => mark + texts.join(ending) + (isEnded ? ending : ''));
const disk = fc.record({ 'a.txt': fileText, 'd/c.txt': fileText });

function create(path: string, content: Lines, overwrite: boolean): string {
  const flag = overwrite ? '- Overwrite: true\n' : '';
  return `### CREATE\n- File Path: ${path}\n${flag}\n\`\`\`\n${content.join('')}\`\`\`\n`;
}

function edit(path: string, pairs: [find: Lines | null, replace: Lines][], matchAll: boolean): string {
  const fence = (label: string, text: Lines) => `#### ${label}:\n\`\`\`\n${text.join('')}\`\`\`\n`;
  const bodies = pairs.map(([find, replace]) => (find === null ? '' : fence('FIND', find)) + fence('REPLACE', replace));
  return `### EDIT\n- File Path: ${path}\n- Match All: ${matchAll}\n\n${bodies.join('')}`;
}

const path = fc.oneof({ weight: 3, arbitrary: fc.constantFrom('a.txt', 'd/c.txt') }, fc.constantFrom(...paths));
const anyAction = fc.oneof(
  fc.tuple(path, lines, fc.boolean()).map((parts) => create(...parts)),
  fc
    .tuple(path, fc.array(fc.tuple(someLines, lines), { minLength: 1, maxLength: 2 }), fc.boolean())
    .map((parts) => edit(...parts)),
  fc.tuple(path, lines).map(([of, replace]) => edit(of, [[null, replace]], false)),
);

/** The effect of a step depends on the steps before it. */
const step = fc.record({
  path: fc.constantFrom('a.txt', 'b.txt', 'd/c.txt'),
  kind: fc.constantFrom('create', 'edit', 'edit', 'edit', 'whole'),
  at: fc.nat(9),
  content: someLines,
  isRemoval: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** The step as an action that is valid for `files`, and the files after it. */
function toValidAction(files: Map<string, Lines>, { path: of, kind, at, content, isRemoval }: Step): string {
  const now = files.get(of);
  if (now === undefined || now.length === 0 || kind === 'create') {
    files.set(of, content);
    return create(of, content, now !== undefined);
  }
  if (kind === 'whole') {
    files.set(of, content);
    return edit(of, [[null, content]], false);
  }
  const found = now[at % now.length] ?? '';
  const replace = isRemoval ? [] : content;
  files.set(
    of,
    now.flatMap((text) => (text === found ? replace : [text])),
  );
  return edit(of, [[[found], replace]], true);
}

const pending = (files: Record<string, string>, actions: string[]) =>
  given.plannedTurn(actions, [], { 'README.md': '# Notes\n', ...files });

async function readAll(project: MemoryProject): Promise<Content> {
  const found = await Promise.all(paths.map((of) => project.repository.workspace.readDisk(of as RepoPath)));
  return Object.fromEntries(paths.map((of, at) => [of, found[at] ? toText(found[at]) : null]));
}

/** By each action's own result, and by the combined diffs. */
function predict(before: Content, { actions, files }: PlanPreview): [Content, Content] {
  const [written, patched] = [{ ...before }, { ...before }];
  for (const { effect } of actions) {
    if (effect?.kind === 'write') written[effect.path] = toText(effect.after);
  }
  for (const { path: of, diff } of files) {
    const result = applyPatch(before[of] ?? '', diff, { autoConvertLineEndings: false });
    patched[of] = result === false ? 'the diff does not apply' : result;
  }
  return [written, patched];
}

function toText(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** Previews, runs, compares. Returns the final files, or null if the plan is invalid. */
async function compare(files: Record<string, string>, actions: string[]): Promise<Content | null> {
  const project = await pending(files, actions);
  const before = await readAll(project);
  const preview = await previewPlan(project, {});
  expect(await readAll(project)).toEqual(before);
  const { report } = await run(project);
  const after = await readAll(project);
  expect(report.validation_errors).toEqual(preview.problems);
  if (preview.problems.length > 0) {
    expect(report.run_summary.status).toBe('VALIDATION_FAILED');
    expect(after).toEqual(before);
    return null;
  }
  expect(report.run_summary).toMatchObject({ status: 'SUCCESS', error: null });
  const [written, patched] = predict(before, preview);
  expect(after).toEqual(written);
  expect(after).toEqual(patched);
  const changed = preview.files.map(({ path: of, change }) => [of, change]);
  expect(report.changes.map(({ path: of, change }) => [of, change]).toSorted()).toEqual(changed.toSorted());
  return after;
}

slowTest('a valid plan makes exactly the predicted files, by its actions and by the combined diffs', async () => {
  await fc.assert(
    fc.asyncProperty(someLines, fc.array(step, { minLength: 1, maxLength: 6 }), async (first, steps) => {
      const model = new Map([['d/c.txt', first]]);
      const files = { 'd/c.txt': first.join('') };
      const actions = steps.map((one) => toValidAction(model, one));
      const wanted = Object.fromEntries(paths.map((of) => [of, model.get(of)?.join('') ?? null]));
      expect(await compare(files, actions)).toEqual(wanted);
    }),
    runs(30),
  );
});

slowTest(
  'any plan has the same result in the preview and in the run: the same files, or the same problems',
  async () => {
    const seen = { valid: 0, invalid: 0 };
    await fc.assert(
      fc.asyncProperty(disk, fc.array(anyAction, { minLength: 1, maxLength: 3 }), async (files, actions) => {
        seen[(await compare(files, actions)) === null ? 'invalid' : 'valid'] += 1;
      }),
      runs(50),
    );
    expect(Math.min(seen.valid, seen.invalid)).toBeGreaterThan(0);
  },
);
