/** Formats times for people: local time, or how long ago. `--json` has times in ISO 8601. */

/** Returns, for example, `2026-01-24 15:04`, in this machine's time zone; empty when `iso` is not a time. */
export function formatTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return '';
  const two = (number: number) => String(number).padStart(2, '0');
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`;
}

const hour = 3600;
const day = 24 * hour;

/** Returns, for example, `12 s`, `5 min`, `3 h`, `2 days` or `4 months`. */
export function describeAge(since: string, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(since)) / 1000));
  if (Number.isNaN(seconds)) return '';
  if (seconds < 60) return `${seconds} s`;
  if (seconds < hour) return `${Math.floor(seconds / 60)} min`;
  if (seconds < day) return `${Math.floor(seconds / hour)} h`;
  const days = Math.floor(seconds / day);
  if (days < 60) return days === 1 ? '1 day' : `${days} days`;
  return days < 730 ? `${Math.floor(days / 30)} months` : `${Math.floor(days / 365)} years`;
}
