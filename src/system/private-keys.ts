/** Armoured private keys of every kind: secretlint's rule knows neither encrypted ones nor those of PGP, nor cut ones. */
import type { FoundSecret } from '../session/mask.ts';

/** Newlines may be escaped, as in JSON. The lines of a key are headers, base64 (a short line only before the end), or empty. */
const newline = String.raw`(?:\r?\n|(?:\\r)?\\n)`;
const headerLine = String.raw`[A-Za-z-]{2,30}: [^\r\n\\]*`;
const keyLine = String.raw`[A-Za-z0-9+/=]{16,}(?=\s|[\\"'\x60]|$)`;
const begin = '-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----';
const end = '-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----';
const armour = new RegExp(
  String.raw`${begin}((?:${newline}[ \t]*(?:${headerLine}|${keyLine}|(?=${newline})))*)(?:(?:${newline}[ \t]*[A-Za-z0-9+/=]{0,15}){0,3}${newline}[ \t]*${end})?`,
  'g',
);
const header = /^[ \t]*[A-Za-z-]{2,30}: .*$/gm;
/** The smallest key in use has more; `...` and the like have less. */
const minBodyLength = 100;

export function findPrivateKeys(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  for (const match of text.matchAll(armour)) {
    const body = (match[1] ?? '')
      .replaceAll(/(?:\\r)?\\n/g, '\n')
      .replaceAll(header, '')
      .replaceAll(/\s/g, '');
    if (body.length < minBodyLength) continue;
    found.push({ start: match.index, end: match.index + match[0].trimEnd().length, kind: 'private key' });
  }
  return found;
}
