import { describe, expect, test } from 'vitest';
import { parsePlan } from '../../src/plan/parse/parse.ts';
import { runVirtually } from '../../src/plan/validate.ts';
import { command, create, planOf } from '../support/turns.ts';
import { diskOf } from '../support/disk.ts';

const mask = '[masked: github token]';
const disk = diskOf({
  'a.env': 'NAME=a\nTOKEN=real\n',
  'docs.md': `It reads ${mask}.\n`,
});

const edit = (path: string, find: string, replace: string) =>
  `### EDIT\n- **File Path:** ${path}\n\n#### FIND:\n\`\`\`\n${find}\n\`\`\`\n#### REPLACE:\n\`\`\`\n${replace}\n\`\`\`\n`;

async function problemsOf(...actions: string[]): Promise<string[]> {
  const { problems } = await runVirtually(parsePlan(planOf(actions)), { inspect: disk });
  return problems.map(({ message, hint }) => `${message} ${hint ?? ''}`);
}

describe('a plan with a mask', () => {
  test.each([
    ['a new file', create('new.env', `TOKEN=${mask}\n`)],
    ['a line that is written back', edit('a.env', 'NAME=a', `NAME=b\nTOKEN=${mask}`)],
    ['one more than in the file', edit('docs.md', `It reads ${mask}.`, `It reads ${mask}.\nOr ${mask}.`)],
    ['another one than in the file', edit('docs.md', `It reads ${mask}.`, 'It reads [masked: npm token].')],
    ['a command', command(`curl -H "token: ${mask}"`)],
    ["a command's environment", command('make', `- **env:**\n  - TOKEN: ${mask}`)],
  ])('is invalid in %s, and the mask is named', async (_, action) => {
    const [problem, ...more] = await problemsOf(action);
    expect(problem).toMatch(/\[masked: (?:github|npm) token\]/);
    expect(problem).toMatch(/user/);
    expect(more).toEqual([]);
  });

  test('names the mask if a FIND looks for it in place of the secret', async () => {
    const problems = await problemsOf(edit('a.env', `TOKEN=${mask}`, 'TOKEN=new'));
    expect(problems).toContain(
      `EDIT a.env: FIND has ${mask}, which stands for a secret that the file has there. Leave the line with the secret out of FIND.`,
    );
  });

  test('is valid if the file contains that exact text, or if it only documents masks', async () => {
    const kept = edit('docs.md', `It reads ${mask}.`, `It will read ${mask}.`);
    expect(await problemsOf(kept, create('more.md', 'A mask reads `[masked: <kind>]`.\n'))).toEqual([]);
  });
});
