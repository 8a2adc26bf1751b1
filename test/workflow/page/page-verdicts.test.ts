/** Verdicts on plans, and revised plans, on a page. */
import { describe, expect, test } from 'vitest';
import { renderSessionPage } from '../../../src/page/render-page.ts';
import { findPageSource, readPage } from '../../../src/workflow/page/read-page.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { given } from '../../support/given.ts';
import { claudePlanWaits, codexPlanWaits } from '../../support/followed-log.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { create, planOf, say, session } from '../../support/turns.ts';

async function read(project: MemoryProject, selector: string) {
  const source = await findPageSource(project, selector);
  const page = await readPage(project, source, { version: '1.2.3', checks: false });
  const markup = renderSessionPage(page, project.hash);
  const articles = [...markup.matchAll(/<article class="turn (\w+)"([\s\S]*?)<\/article>/g)];
  return { page, markup, turns: articles.map(([all, tone]) => ({ tone, markup: all })) };
}

describe('a plan by teddy', () => {
  async function begin(): Promise<MemoryProject> {
    const project = await given.session();
    await say(project, 'Make it', planOf([create('a.txt')]));
    return project;
  }

  test('that was approved names the approver, and has each comment below its line', async () => {
    const project = await begin();
    const comments = [
      { line: 3, text: 'Why <b>here</b>?' },
      { line: 1, text: 'A better title?' },
    ];
    await giveVerdict(project, { verdict: 'approved', text: 'Go on.', comments });
    const { page, turns } = await read(project, session);
    const said = comments.map(({ line, text }) => ({ line, text: { text, cut: null } }));
    expect(page.turns[0]?.verdicts).toMatchObject([{ verdict: 'approved', author: 'Ada Example', comments: said }]);
    const [turn] = turns;
    expect(turn?.markup).toContain('<span class="pill wait">approved, not run</span>');
    expect(turn?.markup).toMatch(/<h3>Verdict<\/h3>\s*<p>\s*<strong>Ada Example<\/strong> approved the plan\./);
    const source = /<pre tabindex="0">\n(# [\s\S]*?)<\/pre>/.exec(turn?.markup ?? '')?.[1] ?? '';
    const lines = (page.turns[0]?.plan?.source.text ?? '').split('\n');
    expect(source.split('\n').slice(0, 4)).toEqual([
      lines[0],
      `<span class="remark"><b>Ada Example</b>: A better title?</span>${lines[1] ?? ''}`,
      lines[2],
      `<span class="remark"><b>Ada Example</b>: Why &lt;b&gt;here&lt;/b&gt;?</span>${lines[3] ?? ''}`,
    ]);
    // The comments are not part of the plan.
    expect(source.replaceAll(/<span class="remark">.*?<\/span>/g, '').split('\n')).toHaveLength(lines.length);
  });

  test('that was rejected is compared with the next one, whoever closed its turn', async () => {
    const project = await begin();
    await giveVerdict(project, { verdict: 'rejected', text: 'Rather b.txt.' });
    await say(project, 'Again', planOf([create('b.txt')]));
    const { markup, turns } = await read(project, session);
    expect(turns[0]?.markup).toContain('<span class="pill warn">rejected</span>');
    expect(turns[0]?.markup.match(/Rather b\.txt\./g)).toHaveLength(1);
    expect(turns[1]?.markup).toContain('href="#c-01-02"');
    expect(markup).toMatch(/id="c-01-02"[\s\S]*Rather b\.txt\.[\s\S]*<del>-[^\n]*\.txt[\s\S]*<ins>\+[^\n]*\.txt/);
  });
});

test('a plan by Codex waits until it is judged, although its answer repeats it', async () => {
  const project = await memoryProject();
  const { session: captured } = await codexPlanWaits(project);
  const before = await read(project, captured);
  expect(before.turns[1]?.markup).toContain('<span class="pill wait">waiting for a verdict</span>');
  expect(before.page.turns.map(({ awaitsVerdict }) => awaitsVerdict)).toEqual([false, true]);
  await giveVerdict(project, { selector: captured, verdict: 'approved' });
  expect((await read(project, captured)).turns[1]?.markup).toContain('<span class="pill good">approved</span>');
});

test('another agent’s plans are revisions of each other, and wait until they are judged', async () => {
  const project = await memoryProject();
  const { session } = await claudePlanWaits(project);
  const before = await read(project, session);
  expect(before.turns[1]?.markup).toContain('<span class="pill wait">waiting for a verdict</span>');
  expect(before.turns[1]?.markup).toContain('How it differs from the plan of turn 01');
  await giveVerdict(project, { selector: session, verdict: 'rejected', comments: [{ line: 4, text: 'Which tests?' }] });
  const { turns } = await read(project, session);
  expect(turns[1]?.markup).toContain('<span class="pill warn">rejected</span>');
  expect(turns[1]?.markup).toContain('<code>2. Test it.</code>');
  expect(turns[1]?.markup).toContain('2. Test it.\n<span class="remark"><b>Ada Example</b>: Which tests?</span></pre>');
});
