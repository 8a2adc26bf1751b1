/** What Claude Code writes into a user's message that the user has not said. */

const noticeTags = [
  'system-reminder',
  'local-command-stdout',
  'local-command-stderr',
  'local-command-caveat',
  'task-notification',
  'ide_opened_file',
  'ide_selection',
];

/** The whole text stands in one of the program's own tags. */
export function isNotice(text: string): boolean {
  const trimmed = text.trim();
  return noticeTags.some((tag) => trimmed.startsWith(`<${tag}>`) && trimmed.endsWith(`</${tag}>`));
}

export function isInterruption(text: string): boolean {
  return /^\[Request interrupted by user(?: for tool use)?\]$/.test(text.trim());
}

/** A slash command as the user typed it; any other text as it is. */
export function toCommand(text: string): string {
  if (!/^\s*<command-(?:name|message)>/.test(text)) return text;
  const name = tagged(text, 'command-name');
  if (name === '') return text;
  return `${name.startsWith('/') ? name : `/${name}`} ${tagged(text, 'command-args')}`.trim();
}

function tagged(text: string, tag: string): string {
  const start = text.indexOf(`<${tag}>`);
  const end = text.indexOf(`</${tag}>`, start);
  return start === -1 || end === -1 ? '' : text.slice(start + tag.length + 2, end).trim();
}
