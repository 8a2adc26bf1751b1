import { describe, expect, test } from 'vitest';
import { findingsOf, validate } from './validation.ts';

describe('omission', () => {
  test.each([
    '// ... rest of the code unchanged',
    '// ... existing code ...',
    '    // ...existing code...',
    '# ... (rest of the file remains the same) ...',
    '# rest of the file unchanged',
    '// The rest of the code remains unchanged.',
    '/* ... rest of the styles ... */',
    '<!-- rest of the content remains the same -->',
    '{/* ... other components ... */}',
    '-- remaining code omitted for brevity',
    '// [truncated]',
    '[truncated]',
    '[... truncated ...]',
    '[rest of file unchanged]',
    '... existing code ...',
    '... rest of the implementation unchanged ...',
    '# … remaining methods …',
    '// ... other imports',
    '// ... 120 more lines ...',
    '// Keep the existing code here',
    '// ... (unchanged)',
    'foo(); // ... rest of the function unchanged',
    '// everything else stays the same',
    '; ... previous code ...',
    '// implementation omitted for brevity',
    '// rest of code...',
    '// Rest of the existing code unchanged...',
  ])('%j is a finding at the line', async (line) => {
    expect(await findingsOf('a.rb', `x = 1\n${line}\n`)).toEqual([`omission 2:${line.search(/\S/) + 1}`]);
  });

  test.each([
    'const all = [...existing, ...rest];',
    '...existing',
    '  ...existingCode,',
    '...rest',
    'foo(...args); // other arguments are ignored',
    '// the rest of the arguments are passed on',
    '// Handle the remaining items.',
    '// Skips the existing file.',
    '# The rest of the line is a comment.',
    '// Existing code depends on this order.',
    '// unchanged files are not written',
    '# Other settings',
    '// Loading more items...',
    'print("... existing code ...")',
    '"[truncated]",',
    'the rest of the code is unchanged',
    'const truncated = [1];',
    '[truncated](https://example.org)',
    '// the output is truncated to 100 lines',
    'if (isTruncated) text += " [truncated]";',
    '// remove the existing code',
  ])('%j is not a finding', async (line) => {
    expect(await findingsOf('a.rb', `x = 1\n${line}\n`)).toEqual([]);
  });

  test('a finding quotes the words', async () => {
    const { findings } = await validate('a.rb', '  # ... rest of the code unchanged\n');
    expect(findings[0]?.message).toBe(
      '"... rest of the code unchanged" stands for lines that are left out; the whole content is needed.',
    );
  });

  test('prose about such lines is not a finding', async () => {
    const page =
      'Models write `// ... existing code ...`, or leave [truncated] behind.\n\n# Rest of the file unchanged\n\n```js\n// ... existing code ...\n```\n';
    expect(await findingsOf('a.md', page)).toEqual([]);
  });

  test('a page that was itself cut is a finding', async () => {
    expect(await findingsOf('a.md', '# T\n\n[... rest of the document unchanged ...]\n')).toEqual(['omission 3:1']);
    expect(await findingsOf('a.md', '# T\n\n<!-- rest of the file unchanged -->\n')).toEqual(['omission 3:1']);
  });

  test('a line that the target has is not a finding, wherever it is', async () => {
    const line = '// ... existing code ...';
    expect(await findingsOf('a.rb', `y\n  ${line}\n`, { base: `${line}\n` })).toEqual([]);
  });
});
