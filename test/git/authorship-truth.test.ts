/** The authorship log and the trace for random sessions, whose lines have known authors. On real git. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { renderTrace } from '../../src/workflow/conversation/export-trace.ts';
import { readAgentTrace } from '../support/agent-trace.ts';
import { readAuthorshipLog } from '../support/authorship-log.ts';
import { openAuthoredRepository, type AuthoredRepository, type TextChange } from '../support/line-authors.ts';
import { runs } from '../support/runs.ts';

const change = fc.record<TextChange>({
  at: fc.nat(1000),
  count: fc.nat(400),
  added: fc.integer({ min: 1, max: 6 }),
  withBraces: fc.boolean(),
});
const step = fc.record({
  do: fc.constantFrom('turn', 'turn', 'edit', 'rename', 'undo', 'land'),
  file: fc.nat(4),
  change,
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** The second landing renames the first one's files, and moves a line elsewhere. */
const added = { at: 900, count: 0, added: 3, withBraces: false };
const renamedAfterLanding: [Step[], TextChange] = [
  (['turn', 'rename', 'land', 'rename', 'turn'] as const).map((one, at) => ({
    do: one,
    file: at === 4 ? 2 : 0,
    change: added,
  })),
  added,
];

async function take(authored: AuthoredRepository, one: Step) {
  const files = [...(await authored.files()), 'new.txt'];
  const path = files[one.file % files.length] ?? 'a.txt';
  if (one.do === 'turn') return authored.turn(path, one.change);
  if (one.do === 'edit') return authored.edit(path, one.change);
  await authored.commit('Before');
  if (one.do === 'undo') return authored.undo();
  if (one.do === 'rename')
    return path === 'new.txt' ? undefined : authored.rename(path, `moved-${path.replaceAll('/', '-')}`);
  await authored.land();
  await authored.repo.git('switch', '--quiet', `teddy/${authored.session}`);
}

/**
 * Each line in each file that the session has changed is traced to its author, or called unknown; returns how many of
 * how many are.
 */
async function expectTraced({ project, repo, session }: AuthoredRepository): Promise<{ unknown: number; all: number }> {
  const request = { selector: session ?? undefined, revision: 'main', version: '0' };
  const seen = { unknown: 0, all: 0 };
  for (const [path, lines] of readAgentTrace((await renderTrace(project, request)).text).files)
    for (const [at, text] of (await repo.git('show', `main:${path}`)).split('\n').entries()) {
      const [, author] = / of (\S+);$/.exec(text) ?? [];
      if (author === undefined) continue;
      const { type, url } = lines.get(at + 1) ?? {};
      seen.all += 1;
      if (type === 'unknown') seen.unknown += 1;
      else {
        const by = type === 'human' ? 'person' : url?.replace('teddy:', '').replace('/', '-');
        expect(`${path}:${at + 1} ${by}`).toBe(`${path}:${at + 1} ${author}`);
      }
    }
  return seen;
}

/** Git shows the lines that a landing has added: those by turns are attested, each by its own turn, and no others. */
async function expectExact(authored: AuthoredRepository, commit: string): Promise<number> {
  const git = authored.repo.git;
  const hasNote = await authored.repo.gitSucceeds('notes', '--ref=ai', 'show', commit);
  const log = hasNote ? readAuthorshipLog(await git('notes', '--ref=ai', 'show', commit)) : null;
  const paths = (
    await git('diff-tree', '-r', '--root', '--no-commit-id', '--diff-filter=d', '--name-only', commit)
  ).split('\n');
  let count = 0;
  const found: string[] = [];
  const wanted: string[] = [];
  for (const path of paths.filter((one) => one !== '')) {
    const rows = (await git('blame', '--line-porcelain', commit, '--', path)).split('\n');
    const heads = rows.filter((row) => /^[0-9a-f]{40} \d+ \d+/.test(row));
    const texts = rows.filter((row) => row.startsWith('\t')).map((row) => row.slice(1));
    for (const [at, text] of texts.entries()) {
      const id = log?.files.get(path)?.get(at + 1)?.id ?? null;
      // Many people have written a brace: it proves nothing.
      const [, author] = / of (\S+);$/.exec(text) ?? [];
      if (author === undefined) continue;
      if (id !== null) found.push(`${path}:${at + 1} ${id.replace('/', '-')}`);
      if (heads[at]?.startsWith(commit) && author !== 'person') wanted.push(`${path}:${at + 1} ${author}`);
      count += 1;
    }
  }
  expect(found).toEqual(wanted);
  return count;
}

test('in random sessions each line is traced to its author, and attested if that is a model', async () => {
  let checked = 0;
  const traced = { unknown: 0, all: 0 };
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 2, maxLength: 7 }),
    change,
    async (steps, meanwhile) => {
      const authored = await openAuthoredRepository();
      try {
        await authored.repo.git('config', 'teddy.notes', 'git-ai');
        authored.project.repository.reloadSettings();
        await authored.begin('try-it');
        for (const one of steps) await take(authored, one);
        await authored.commit('The rest');
        await authored.repo.git('switch', '--quiet', 'main');
        await authored.edit('a.txt', meanwhile).catch(() => undefined);
        await authored.commit('Meanwhile');
        await authored.land();
        const { unknown, all } = await expectTraced(authored);
        traced.unknown += unknown;
        traced.all += all;
        const landings = await authored.repo.git('log', '--format=%H', '--grep=^Teddy-Landed-From', 'main');
        for (const commit of landings.split('\n').filter((oid) => oid !== ''))
          checked += await expectExact(authored, commit);
      } finally {
        await authored.close();
      }
    },
  );
  await fc.assert(property, { ...runs(4, 3), examples: [renamedAfterLanding], endOnFailure: true });
  expect(checked).toBeGreaterThan(0);
  expect(traced.unknown / traced.all).toBeLessThan(0.5);
}, 600_000);
