/** Cuts a line to fit, with `…` at its end. Counts characters; `columns` may be infinite. */
export function cutToWidth(text: string, columns: number): string {
  const room = Math.max(columns, 1);
  if (text.length <= room) return text;
  const characters = [...text];
  return characters.length <= room
    ? text
    : `${characters
        .slice(0, room - 1)
        .join('')
        .trimEnd()}…`;
}
