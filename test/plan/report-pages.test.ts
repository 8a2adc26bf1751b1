import { expect, test } from 'vitest';
import { readPages } from '../../src/plan/report/report-logs.ts';

const log = (status: string, file: string, url = 'https://EXAMPLE.org/a#b') =>
  `  - { index: 1, status: ${status}, details: { url: "${url}", final_url: "https://example.org/c", page_file: "${file}" } }`;

test('a page is listed under its requested and its final URL, in the fetched spelling', () => {
  expect(readPages(`action_logs:\n${log('SUCCESS', 'pages/1.txt')}`)).toEqual([
    { urls: ['https://example.org/a', 'https://example.org/c'], file: 'pages/1.txt' },
  ]);
});

test.each([
  ['a failed action', `action_logs:\n${log('FAILURE', 'pages/1.txt')}`],
  ['a file that is not a page', `action_logs:\n${log('SUCCESS', '../01/pages/1.txt')}`],
  ['a damaged report', 'action_logs: [page_file'],
  ['an invalid report', 'page_file'],
  ['invalid logs', 'action_logs: [1, null, { page_file: 2, details: null }]'],
])('%s has no page', (_, yaml) => expect(readPages(yaml)).toEqual([]));
