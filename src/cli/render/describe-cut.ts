import { formatCount } from '../../session/format-count.ts';
import type { CutFile } from '../../view/view.ts';

export function describeCut({ file, characters, command }: CutFile): string {
  return `${formatCount(characters)} characters of ${file}. All of it: \`${command}\``;
}
