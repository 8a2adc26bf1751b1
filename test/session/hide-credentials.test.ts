import { expect, test } from 'vitest';
import { hideCredentials } from '../../src/session/masks/urls.ts';

test.each([
  ['https://ada:p@ssw0rd@git.example.org/x', 'https://***@git.example.org/x'],
  ['https://ada:p@ss/w0rd@git.example.org/x', 'https://***@git.example.org/x'],
  ['https://token@git.example.org/@scope/x', 'https://***@git.example.org/@scope/x'],
  ['https://git.example.org:8443/@scope/x', 'https://git.example.org:8443/@scope/x'],
  ['ssh://git@git.example.org/x', 'ssh://git@git.example.org/x'],
  ['ssh://git:secret@git.example.org/x', 'ssh://***@git.example.org/x'],
  ['git@git.example.org:x', 'git@git.example.org:x'],
])('%s is shown as %s', (address, told) => {
  expect(hideCredentials(address)).toBe(told);
});
