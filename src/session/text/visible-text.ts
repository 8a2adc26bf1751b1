/** Makes text from models, files and remotes safe to print: all of it is visible and none of it has an effect. */

/**
 * Makes control characters and bidirectional overrides visible. Newlines and tabs stay; all other characters that could
 * move the cursor, change colors or reorder text become visible and harmless.
 */
export function toVisible(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(unseen, toSymbol)
    .replace(/(?<=[^\p{Emoji}\p{S}])[\uFE0E\uFE0F]/gu, toSymbol);
}

/**
 * Matches characters that move the cursor, reorder text, or are invisible: tag characters, soft hyphens, fillers,
 * joiners. Parts of an emoji are excluded: a selector after one, a joiner between two.
 */
export const unseen =
  /[^\P{Cc}\n\t]|(?![\uFE0E\uFE0F]|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D(?=\p{Extended_Pictographic}))[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Zl}\p{Zp}\u2800]/gu;

/** Shows C0 characters as Unicode control pictures, and all others by number. */
function toSymbol(found: string): string {
  const code = found.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}
