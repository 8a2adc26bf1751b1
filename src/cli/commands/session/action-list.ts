import { TeddyError } from '../../../errors.ts';

const maxRange = 10_000;

/** Reads `1,3` and `2-4`. Throws USAGE. */
export function parseActionList(flag: string, text: string | undefined): number[] | undefined {
  return text?.split(',').flatMap((part) => parseRange(flag, part.trim()));
}

function parseRange(flag: string, part: string): number[] {
  const [, from, to] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part) ?? [];
  const [first, last] = [Number(from), Number(to ?? from)];
  if (from !== undefined && last >= first && last - first < maxRange) {
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  }
  throw new TeddyError(
    'USAGE',
    `${flag}: ${JSON.stringify(part)} is not the number of an action.`,
    `Give numbers and ranges: ${flag} 1,3-5.`,
  );
}
