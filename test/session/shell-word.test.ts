import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { toShellWord } from '../../src/session/text/shell-word.ts';

test.each(['/home/ada/src', '/mein Ordner/ü', "it's", '$(x) `y` "z" \\', '', 'a\nb', '~', '*', '#x'])(
  'a shell reads %j back unchanged',
  (text) => {
    const said = execFileSync('sh', ['-c', `printf %s ${toShellWord(text)}`], { encoding: 'utf8' });
    expect(said).toBe(text);
  },
);

test('text that needs no quotes gets none', () => {
  expect(toShellWord('/home/ada/20260124-add-login_2')).toBe('/home/ada/20260124-add-login_2');
});
