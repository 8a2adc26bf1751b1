/** Control characters have no business in a text file, but for tab, line feed, form feed and carriage return. */
import type { Candidate, Verdict } from './candidate.ts';
import { locator } from './positions.ts';
import type { Finding } from './write.ts';

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const control = /[\0-\x08\x0b\x0e-\x1f\x7f]/g;
const maxTold = 20;
const names: Record<string, string> = { '\0': 'NUL', '\x1b': 'ESC', '\x08': 'backspace', '\x7f': 'DEL' };

/** One finding for each such character, at its first place; not for one that the target had before. */
export function checkCharacters({ text, base }: Candidate): Verdict {
  const firsts = new Map<string, number>();
  for (const { 0: found, index } of text.matchAll(control)) if (!firsts.has(found)) firsts.set(found, index);
  const locate = locator(text);
  const findings: Finding[] = [];
  for (const [character, offset] of firsts) {
    if (findings.length === maxTold) break;
    if (base?.text().includes(character)) continue;
    const message = `The text has the control character ${nameCharacter(character)}.`;
    findings.push({ check: 'control-characters', message, ...locate(offset) });
  }
  return findings;
}

function nameCharacter(character: string): string {
  const code = `U+${character.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`;
  const name = names[character];
  return name === undefined ? code : `${code} (${name})`;
}
