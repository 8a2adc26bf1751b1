/** The settings of a repository, for a copy of it that is used once. */
import type { GitRunner } from './run.ts';

/** What belongs to the place of a repository, to its other work trees, or to programs that wait for it. */
const leftOut = [
  /^core\.(?:bare|worktree|repositoryformatversion|fsmonitor|sparsecheckout|sparsecheckoutcone)$/,
  /^index\.sparse$/,
  /^include(?:if)?\./,
  /^extensions\.(?!partialclone$)/,
  /^remote\..*\.(?:pushurl|mirror)$/s,
];

/** As the text of a configuration file. What is pushed goes to `nowhere`: a command that is run again must not publish anything. */
export async function readScratchConfig(git: GitRunner, nowhere: string): Promise<string> {
  const fields = await git.list(['config', '--list', '--show-scope', '-z']);
  const rows = fields.filter((_, at) => at % 2 === 1 && ['local', 'worktree'].includes(fields[at - 1] ?? ''));
  return rows
    .map(toSetting)
    .filter(({ key, value }) => !leftOut.some((pattern) => pattern.test(key)) && !isOwnHooks(key, value))
    .flatMap((setting) => {
      const [, remote] = /^remote\.(.*)\.url$/s.exec(setting.key) ?? [];
      return remote === undefined ? [setting] : [setting, { key: `remote.${remote}.pushurl`, value: nowhere }];
    })
    .map(render)
    .join('');
}

interface Setting {
  /** As git prints it: in lower case but for the subsection. */
  key: string;
  /** Null: it stands there without one, which means true. */
  value: string | null;
}

function toSetting(row: string): Setting {
  const end = row.indexOf('\n');
  return end < 0 ? { key: row, value: null } : { key: row.slice(0, end), value: row.slice(end + 1) };
}

/** A place outside of the files: commands install their hooks there. */
function isOwnHooks(key: string, value: string | null): boolean {
  return key === 'core.hookspath' && /^[/~%]/.test(value ?? '');
}

function render({ key, value }: Setting): string {
  const [first, last] = [key.indexOf('.'), key.lastIndexOf('.')];
  const subsection = first === last ? '' : ` "${key.slice(first + 1, last).replace(/[\\"]/g, '\\$&')}"`;
  const said = value === null ? '' : ` = "${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
  return `[${key.slice(0, first)}${subsection}]\n\t${key.slice(last + 1)}${said}\n`;
}
