/** The commands `teddy context add` and `drop`, which edit the user's lists without an editor. */
import { existsSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { formatCount } from '../../../../session/text/format-count.ts';
import { toShellWord } from '../../../../session/text/shell-word.ts';
import { isPattern } from '../../../../session/context/context-target.ts';
import type { EditedList } from '../../../../workflow/context/edit-list.ts';
import type { ContextRow } from '../../../../workflow/context/rows.ts';
import { askingForeign } from '../../../ask/choose-model.ts';
import { option, parameters, sessionOption, TeddyCommand, type Terminal, usage } from '../../../teddy-command.ts';
import { toVisible } from '../../../../session/text/visible-text.ts';
import { TeddyError } from '../../../../errors.ts';

abstract class ContextEditCommand extends TeddyCommand {
  session = sessionOption();
  global = option('--global', { describe: 'Edit global.context, the list for all sessions.' });
  named = parameters('path', { atLeast: 1, completes: ['files'] });
  protected abstract readonly kind: 'add' | 'drop';

  protected run(terminal: Terminal): Promise<number> {
    const { kind, named: given } = this;
    if (given.some((path) => path.trim() === ''))
      throw new TeddyError('USAGE', 'A path is empty.', `Name a file, a directory or a pattern.`);
    const { signal } = new AbortController();
    return this.withProject(terminal, async (project) => {
      const { editContextList } = await import('../../../../workflow/context/edit-list.ts');
      const root = project.repository.workspace?.root;
      const paths = given.map((path) => toProjectPath(this.context.cwd(), path, root));
      const approveForeign = askingForeign(terminal, signal, { canAsk: terminal.isInteractive && !this.json });
      const edit = { selector: this.session, kind, paths, isGlobal: this.global, approveForeign };
      const edited = await editContextList(project, edit);
      if (this.json) this.printJson(terminal, `session-context-${kind}`, edited);
      else showEdited(terminal, edited);
      return 0;
    });
  }
}

export class SessionContextAddCommand extends ContextEditCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Show the model more files from the next turn on.',
    details: `
      Adds each path to the session's own list, \`session.context\`; with \`--global\`, to the list for all sessions. A
      path is a file, a directory, a pattern in quotes, or a URL that an approved READ has fetched. Nothing is added if
      one of the paths matches nothing, or if the files do not fit in the request's budget.
    `,
    examples: [
      ['Show a file and a directory', '$0 context add src/app.ts docs'],
      ['Show all tests of one kind', "$0 context add 'test/**/*.test.ts'"],
    ],
  });

  protected override readonly kind = 'add';
}

export class SessionContextDropCommand extends ContextEditCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Show the model fewer files from the next turn on.',
    details: `
      Removes the path's own line from the list. If other lines still show it, or the model asked for it, a line
      \`!path\` excludes it.
    `,
    examples: [['Stop showing a directory', '$0 context drop docs']],
  });

  protected override readonly kind = 'drop';
}

/**
 * Returns the path in the project's form: relative to the current directory, as in git, otherwise to the project's
 * root, as in the lists.
 */
export function toProjectPath(cwd: string, text: string, root: string | undefined): string {
  if (root === undefined || text.includes('://')) return text;
  const here = resolve(cwd, text);
  // In a list, `/docs` means the project's own directory; an absolute path that exists elsewhere stays unchanged.
  const isHere = existsSync(here) || (!isAbsolute(text) && isPattern(text) && !existsSync(resolve(root, text)));
  return isHere ? relative(root, here).split(sep).join('/') || '.' : text;
}

export function showEdited(terminal: Terminal, edited: EditedList): void {
  const { file, session, commit, cameIn, wentOut, already, secrets, budget } = edited;
  for (const row of renderRows(cameIn, '+')) terminal.print(`${terminal.style('green', row)}\n`);
  for (const row of renderRows(wentOut, '-')) terminal.print(`${terminal.style('red', row)}\n`);
  for (const { path, from } of already) terminal.say(`${toVisible(path)} is already shown (${toVisible(from)}).`);
  for (const path of secrets)
    terminal.say(
      `${terminal.style('yellow', 'warning:', 'stderr')} ${toVisible(path)} has a name that suggests a secret, and the model will see it; only values that look like secrets are masked. To undo: teddy context drop ${toShellWord(path)}`,
    );
  if (commit === null) return;
  const whose =
    file === 'session.context' ? `session.context of ${session}` : 'global.context, the list for all sessions';
  terminal.say(`Saved in ${whose}, as ${commit.slice(0, 10)}.`);
  if (budget === null) return;
  const spent = formatCount(budget.total - budget.left);
  terminal.say(`The next request uses about ${spent} of ${formatCount(budget.total)} tokens.`);
}

const maxRows = 20;

function renderRows(rows: readonly ContextRow[], sign: '+' | '-'): string[] {
  const shown = rows.slice(0, maxRows).map(({ path, kind, tokens, reason }) => {
    const size =
      kind === 'shown' ? `${formatCount(tokens)} tokens` : kind === 'missing' ? 'missing' : `only listed: ${reason}`;
    return `${sign} ${toVisible(path)}  ${size}`;
  });
  const rest = rows.slice(maxRows);
  if (rest.length === 0) return shown;
  const tokens = rest.reduce((sum, row) => sum + row.tokens, 0);
  return [...shown, `${sign} and ${formatCount(rest.length)} more, ${formatCount(tokens)} tokens`];
}
