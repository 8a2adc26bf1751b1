import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { CliContext } from '../../src/cli/context.ts';
import { openTerminal, type ColorMode } from '../../src/cli/terminal.ts';

function openWith({ isTTY, color }: { isTTY: boolean; color: ColorMode }) {
  const [stdout, stderr] = ['stdout', 'stderr'].map(() => Object.assign(new PassThrough(), { isTTY }));
  const context = { env: { TERM: 'xterm' }, stdin: new PassThrough(), stdout, stderr };
  const read = (stream: PassThrough | undefined) => String(stream?.read() ?? '');
  return {
    terminal: openTerminal(context as unknown as CliContext, color),
    out: () => read(stdout),
    err: () => read(stderr),
  };
}

const hidden = ['\u202e', '\u2066', '\u200b', '\u{e0041}', '\u001b[8m', '\u001b]0;title\u0007', '\u009b2J', '\r'];

test.each(hidden)('a terminal is never sent %j of a name, with and without colours', (name) => {
  for (const color of ['always', 'never'] as const) {
    const { terminal, out, err } = openWith({ isTTY: true, color });
    const style = (stream: 'stdout' | 'stderr') => terminal.style(['red', 'bold'], `a${name}b`, stream);
    terminal.print(`${style('stdout')}\n`);
    terminal.say(style('stderr'));
    terminal.redraw(style('stderr'));
    // oxlint-disable-next-line no-control-regex -- those of the terminal itself
    const own = /\u001b\[(?:1|22|31|39)m|\r\u001b\[K|\u001b\[\?7[lh]/g;
    for (const shown of [out(), err()]) {
      if (color === 'always') expect(shown).toContain('\u001b[31m');
      expect(shown.replace(own, '')).not.toContain(name);
      expect(shown.replace(own, '')).toMatch(/^(?:a[^\p{Cc}\p{Cf}]+b\n?)+$/u);
    }
  }
});

test('what a program reads from stdout stays as it is, and what people read on stderr is shown', () => {
  for (const name of hidden) {
    const { terminal, out, err } = openWith({ isTTY: false, color: 'auto' });
    terminal.print(name);
    terminal.say(name);
    expect(out()).toBe(name);
    expect(err()).not.toContain(name);
  }
});
