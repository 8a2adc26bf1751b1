/** Splits a sent request into its sections, by their marker lines. */
import { estimateTokens } from '../text/tokens.ts';

export interface SentSection {
  /** The kind of section: `history`, `file`, `message`, ... */
  name: string;
  /** The marker line without the boundary: `file src/app.ts blob <oid>`. */
  label: string;
  /** The text, including the marker line. */
  text: string;
}

/**
 * Splits the content into sections. Their texts, joined, equal the content byte for byte. Content that is not a log
 * becomes one `message`.
 */
export function splitSent(content: string): SentSection[] {
  const opening = /^<!-- teddy-[0-9a-f]{8,}(?:-\d+)? /.exec(content)?.[0];
  if (opening === undefined) return [{ name: 'message', label: 'message', text: content }];
  // No body contains the boundary.
  return content
    .split(opening)
    .slice(1)
    .map((part) => {
      const label = /^[^\n]*?(?= -->\n)/.exec(part)?.[0] ?? '';
      return { name: label.split(' ', 1)[0] ?? '', label, text: opening + part };
    });
}

export interface SizedSection {
  name: string;
  /** The estimated number of tokens. */
  tokens: number;
}

/**
 * Lists the sections for the user, largest first: files by their paths, and everything after the request's own text as
 * one section.
 */
export function listLargestSent(messages: readonly { role: string; content: string }[]): SizedSection[] {
  const user = messages.findIndex(({ role }) => role === 'user');
  const sized = messages.flatMap(({ role, content }, at): SizedSection[] => {
    if (at === user)
      return splitSent(content).map((section) => ({ name: toName(section), tokens: estimateTokens(section.text) }));
    if (role === 'system') return [{ name: 'the prompt', tokens: estimateTokens(content) }];
    return [];
  });
  const following = messages.slice(user + 1).filter((_, at) => user !== -1 && at >= 0);
  const since = following.reduce((sum, { content }) => sum + estimateTokens(content), 0);
  return [...sized, ...(since === 0 ? [] : [{ name: 'calls, results and answers since', tokens: since }])].toSorted(
    (one, other) => other.tokens - one.tokens,
  );
}

function toName({ name, label }: SentSection): string {
  if (name !== 'file') return name === 'message' ? 'the message' : `the ${name}`;
  return label.replace(/^file /, '').replace(/ (?:blob [0-9a-f]+|stored|not-shown|missing|refused).*$/s, '');
}
