/** What a writer is asked that has fallen silent. */
export function renderIdlePrompt(endMarker: string): string {
  return `If you're finished, reply ${endMarker} on its own line. Otherwise continue writing.`;
}
