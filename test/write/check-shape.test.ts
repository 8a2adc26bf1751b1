import { describe, expect, test } from 'vitest';
import { findingsOf, validate } from './validation.ts';

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const conflict = '<<<<<<< HEAD\na\n=======\nb\n>>>>>>> topic\n';

describe('conflict markers', () => {
  test('all three in order are a finding at the first', async () => {
    expect(await findingsOf('a.txt', `x\n${conflict}`)).toEqual(['conflict-markers 2:1']);
    expect(await findingsOf('a.txt', `x\r\n${conflict.replaceAll('\n', '\r\n')}`)).toEqual(['conflict-markers 2:1']);
    expect(await findingsOf('a.txt', '<<<<<<< a\n||||||| b\n=======\n>>>>>>> c\n')).toEqual(['conflict-markers 1:1']);
  });

  test.each([
    ['an underlined heading', 'Heading\n=======\n\ntext\n'],
    ['the three out of order', '=======\n<<<<<<< HEAD\n>>>>>>> topic\n'],
    ['one of them missing', '<<<<<<< HEAD\na\n>>>>>>> topic\n'],
    ['longer lines', '<<<<<<<<<< a\n==========\n>>>>>>>>>> b\n'],
    ['indented text', '  <<<<<<< a\n  =======\n  >>>>>>> b\n'],
  ])('%s is not a finding', async (_, content) => {
    expect(await findingsOf('a.txt', content)).toEqual([]);
  });

  test('a page that shows them in a code fence is not a finding', async () => {
    expect(await findingsOf('a.md', `# Merging\n\n\`\`\`\n${conflict}\`\`\`\n`)).toEqual([]);
  });

  test('a conflict that the target had is not a finding', async () => {
    expect(await findingsOf('a.txt', `x\n${conflict}`, { base: conflict })).toEqual([]);
  });
});

describe('code fences', () => {
  test('an unclosed one is a finding at its opening', async () => {
    const { findings } = await validate('a.md', '# T\n\n```ts\nx\n```\n\n```sh\nls\n');
    expect(findings).toEqual([
      { check: 'code-fences', message: 'The code fence "```sh" is not closed.', line: 7, column: 1 },
    ]);
  });

  test.each([
    ['one in a longer one', '````js\n```\n````\n'],
    ['tildes around backticks', '~~~\n```\n~~~\n'],
    ['backticks within a line', '``` code ``` and more\n'],
    ['one in a list item', '- a\n\n  ```sh\n  ls\n  ```\n\n- b\n'],
    ['one that opens a list item', '1. ```sh\n   ls\n   ```\n'],
    ['one in a quotation', '> ```\n> a\n> ```\n'],
    ['one that ends with its quotation', '> ```\n> a\n\ntext\n'],
    ['one that is closed with more marks', '```\na\n`````\n'],
    ['CRLF', '```\r\na\r\n```\r\n'],
  ])('are closed with %s', async (_, content) => {
    expect(await findingsOf('a.md', content)).toEqual([]);
  });

  test('are not closed by fewer marks', async () => {
    expect(await findingsOf('a.md', '````\na\n```\n')).toEqual(['code-fences 1:1']);
  });

  test('are not reported if the target left one open as well', async () => {
    expect(await findingsOf('a.md', '# T\n```sh\nls -l\n', { base: '```sh\nls\n' })).toEqual([]);
  });

  test('are looked for however long a line of list marks is', async () => {
    expect(await findingsOf('a.md', `${'- '.repeat(4_000_000)}\n`)).toEqual([]);
  });

  test('do not begin a source file', async () => {
    expect(await findingsOf('a.rb', '```ruby\nputs 1\n')).toEqual(['code-fences 1:1']);
    expect(await findingsOf('a.rb', 'puts "```"\n# ```\n')).toEqual([]);
  });
});

describe('a fence around the whole content', () => {
  test('is removed from a source file, and noted', async () => {
    const { findings, final, notes } = await validate('a.py', '```python\nprint("é")\n```\n');
    expect(findings).toEqual([]);
    expect(text(final)).toBe('print("é")\n');
    expect(notes).toEqual(['A code fence around the whole content was removed.']);
  });

  test('is removed with empty lines around it and without a last newline', async () => {
    expect(text((await validate('a.py', '\n~~~\nx = 1\r\n~~~')).final)).toBe('x = 1\r\n');
  });

  test('is removed without the fences inside', async () => {
    const inside = '# T\n\n```js\nx\n```\n';
    expect(text((await validate('a.md', `\`\`\`markdown\n${inside}\`\`\`\n`)).final)).toBe(inside);
    expect(text((await validate('a.md', `\`\`\`\`md\n${inside}\`\`\`\`\n`)).final)).toBe(inside);
  });

  test('is removed without changing bytes that are not UTF-8', async () => {
    const content = Buffer.concat([Buffer.from('```\n'), Buffer.from([0xff]), Buffer.from('\n```\n')]);
    expect([...(await validate('a.py', content)).final]).toEqual([0xff, 0x0a]);
  });

  test('is removed, but findings keep the original line numbers', async () => {
    expect(await findingsOf('a.json', '\n```json\n{\n  "a": 1,\n}\n```\n')).toEqual(['syntax 5:1']);
  });

  test.each([
    ['a page that begins with one example and ends with another', 'a.md', '```markdown\na\n```\n\n```js\nb\n```\n'],
    ['a page that is one example of a program', 'a.md', '```js\nb\n```\n'],
    ['a text of an unknown kind', 'a.txt', '```\nb\n```\n'],
  ])('is not detected in %s', async (_, path, content) => {
    const { final, notes } = await validate(path, content);
    expect(text(final)).toBe(content);
    expect(notes).toEqual([]);
  });

  test('stays if the target has one', async () => {
    const { final } = await validate('a.md', '```md\nb\n```\n', { base: '```md\na\n```\n' });
    expect(text(final)).toBe('```md\nb\n```\n');
  });
});

describe('chat text', () => {
  test.each([
    ['Here is the updated file:', 'a.py'],
    ["Here's the complete implementation:", 'a.ts'],
    ['Sure, here you go:', 'a.json'],
    ["I've updated the configuration.", 'a.yaml'],
    ['Certainly! Here is the document you asked for:', 'notes.txt'],
  ])('%j before the content of %s is a finding', async (line, path) => {
    const found = await findingsOf(path, `\n${line}\n\nx: 1\n`);
    expect(found).toContain('chat 2:1');
  });

  test.each([
    ['Let me know if you need anything else!', 'a.py'],
    ['I hope this helps.', 'a.rb'],
    ['Feel free to adjust the values.', 'a.toml'],
    ["Let me know if you'd like me to add tests.", 'a.md'],
  ])('%j after the content of %s is a finding', async (line, path) => {
    expect(await findingsOf(path, `x = 1\n\n${line}\n`)).toContain('chat 3:1');
  });

  test.each([
    ['a comment', 'a.py', '# Here is the file:\nx = 1\n# Let me know if it fails.\n'],
    ['a name', 'a.rb', 'here_is_the_file = 1\nlet_me_know(1)\n'],
    ['a letter', 'letter.txt', 'Dear Ada,\n\nhere is the file.\n\nLet me know if you have questions.\n'],
    ['a page', 'a.md', 'Here is the plan: we begin.\n\nFeel free to ask.\n'],
    ['a string', 'a.json', '"Here is the file:"\n'],
    ['the middle of a file', 'a.txt', 'a\nSure, here is the file:\nb\n'],
  ])('%s is not a finding', async (_, path, content) => {
    expect(await findingsOf(path, content)).toEqual([]);
  });

  test('a line that the target has is not a finding', async () => {
    const line = 'Here is the updated file:';
    expect(await findingsOf('a.rb', `${line}\nx\n`, { base: `x\n${line}\n` })).toEqual([]);
  });
});
