/** The id of a write session: a UUID v4. Nothing else is ever joined to a path. */
const idPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function isWriteId(text: string): boolean {
  return idPattern.test(text);
}
