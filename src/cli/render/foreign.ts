/** Renders the texts that came from elsewhere, to be read before they are accepted. */
import type { SteeringText } from '../../workflow/line/foreign-texts.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/visible-text.ts';

export function renderForeign(terminal: Terminal, texts: SteeringText[], stream: 'stdout' | 'stderr'): string {
  return texts
    .map(({ name, text }) => `${terminal.style('bold', `--- ${name}`, stream)}\n${toVisible(text).trimEnd()}\n`)
    .join('\n');
}
