/** Secrets that the target did not have. */
import type { Candidate, Verdict } from './candidate.ts';
import { takeLines } from './positions.ts';
import type { Finding } from './write.ts';

/** `line` counts from 1. */
interface FoundSecret {
  kind: string;
  line?: number;
}

export type FindSecrets = (text: string, path: string) => Promise<FoundSecret[]>;

export async function checkSecrets({ path, text, base }: Candidate, findSecrets: FindSecrets): Promise<Verdict> {
  const found = await findSecrets(text, path);
  if (found.length === 0) return [];
  const known = base === null ? [] : toKeys(await findSecrets(base.text(), path), base.text());
  const keys = toKeys(found, text);
  return found.filter((_, at) => !known.includes(keys[at] ?? '')).map(toFinding);
}

function toFinding({ kind, line }: FoundSecret): Finding {
  const message = `This looks like a secret (${kind}); content is committed, so it must not hold any.`;
  return { check: 'secrets', message, ...(line === undefined ? {} : { line }) };
}

/** A private key begins with the same line as every other: the next one tells it apart. */
function toKeys(found: FoundSecret[], text: string): string[] {
  const lines = takeLines(text, new Set(found.flatMap(({ line = 0 }) => [line, line + 1])));
  return found.map(({ kind, line = 0 }) => {
    const isKey = /private key/.test(kind);
    return [kind, lines.get(line)?.trim(), ...(isKey ? [lines.get(line + 1)?.trim()] : [])].join('\n');
  });
}
