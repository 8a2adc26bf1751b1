/** What differs between two runs of the same command without meaning anything: times, dates, where it was run. */

/** `12ms`, `0.5 s`, `1m 3s`, `0m0.005s`; numbers that their own label calls a duration. */
export function withoutDurations(text: string): string {
  const unit = '(?:ns|[µμu]s|ms|s|secs?|seconds?|mins?|minutes?)';
  return text
    .replace(/(?<![\w.-])(?:\d+\s?h\s?)?\d+\s?m\s?\d+(?:\.\d+)?\s?s(?!\w)/g, '<duration>')
    .replace(new RegExp(`(?<![\\w.-])\\d+(?:[.,]\\d+)?\\s?${unit}(?!\\w)`, 'g'), '<duration>')
    .replace(/\b(duration_ms["']?\s*[:=]?\s*)\d+(?:\.\d+)?/g, '$1<duration>')
    .replace(/\b(time=")\d+(?:\.\d+)?(")/g, '$1<duration>$2');
}

const dayNames = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const monthNames = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const timeOfDay = '\\d{1,2}:\\d{2}:\\d{2}(?:[.,]\\d+)?(?: ?[AP]M)?';

/** Points in time, as ISO 8601, `date` and mail write them; a time of day needs its seconds. */
export function withoutTimes(text: string): string {
  const day = '\\d{4}-\\d{2}-\\d{2}';
  const forms = [
    `${day}[T ]${timeOfDay}(?: ?(?:Z|[+-]\\d{2}:?\\d{2}))?`,
    `${dayNames},? +(?:${monthNames} +\\d{1,2}|\\d{1,2} +${monthNames})(?:,? +\\d{4})? +${timeOfDay}(?: +[A-Z]{2,5}| +[+-]\\d{4})?(?: +\\d{4})?`,
    day,
    timeOfDay,
  ];
  return text.replace(new RegExp(`(?<![\\w.:-])(?:${forms.join('|')})(?![\\w:])`, 'g'), '<time>');
}

/** The directory of the script itself, of which bash speaks in its errors. Found from its end: an output may be one long word. */
export function withoutScriptPlace(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (const { 0: name, index } of text.matchAll(/teddy-run-[A-Za-z0-9]{6}(?![A-Za-z0-9])/g)) {
    let start = index;
    while (start > from && !/[\s'"`:=(]/.test(text.charAt(start - 1))) start -= 1;
    parts.push(text.slice(from, start), '<script>');
    from = index + name.length;
  }
  return [...parts, text.slice(from)].join('');
}

/** What is compared: both sides, but for the directory of the project. */
export function normaliseOutput(text: string): string {
  return withoutDurations(withoutTimes(withoutScriptPlace(text.replaceAll('\r\n', '\n'))));
}

const maxRootLength = 1024;

/**
 * Whether two outputs say the same. `root`: the directory in which the second was made; where the first was made is not
 * known, so that it may name any one absolute directory there, each time the same.
 */
export function isSameOutput(recorded: string, replayed: string, root: string): boolean {
  const [known, made] = [normaliseOutput(recorded), normaliseOutput(replayed)];
  if (known === made) return true;
  const marked = made.replaceAll(root, '<root>');
  const at = marked.indexOf('<root>');
  if (at === -1 || known.slice(0, at) !== marked.slice(0, at)) return false;
  const line = known.slice(at).split('\n', 1)[0] ?? '';
  if (!/^(?:\/|[A-Za-z]:[\\/])/.test(line)) return false;
  for (let length = Math.min(line.length, maxRootLength); length > 0; length -= 1) {
    if (known.replaceAll(line.slice(0, length), '<root>') === marked) return true;
  }
  return false;
}
