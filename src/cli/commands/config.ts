import { Command, Option } from 'clipanion';
import { findKey } from '../../app.ts';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { requireUsable, type FoundSetting } from '../../session/decide-setting.ts';
import { parseSettingName, settingOf, settings } from '../../session/settings.ts';
import { TeddyCommand } from '../teddy-command.ts';
import { padTo, widthOf } from '../render/cut-to-width.ts';
import { toVisible, type Terminal } from '../terminal.ts';

export class ConfigCommand extends TeddyCommand {
  static override paths = [['config']];
  static override usage = Command.Usage({
    category: 'Look',
    description: 'List all settings: the value, where it comes from, what it is for.',
    details: `
      Options take precedence over the environment; then come \`git config teddy.<name>\` and
      \`.teddy/config.yaml\`, which the project tracks and which can therefore set only a few. With a name, it
      prints that value alone, or nothing if it is not set.

      It changes nothing: use \`git config teddy.<name> <value>\`. The API key is \`OPENAI_API_KEY\`, or what \`git
      credential\` keeps for the endpoint's host and the user name \`teddy\`; it is never printed.
    `,
    examples: [
      ['All settings', '$0 config'],
      ['One value', '$0 config model'],
    ],
  });

  name = Option.String({ name: 'name', required: false });

  protected run(terminal: Terminal): Promise<number> {
    return this.withProject(terminal, async (project) => {
      if (this.name !== undefined) return this.showOne(terminal, project, this.name);
      const found = await Promise.all(settings.map(({ name }) => project.settings.find(name)));
      const key = isUsable(found, 'baseUrl') ? ((await findKey(project, this.context.env))?.origin ?? null) : null;
      if (this.json) {
        this.printJson(terminal, 'config', { settings: found.map(toListed), key });
        return 0;
      }
      terminal.print(renderSettings(terminal, found, key));
      for (const one of found.filter(({ problem }) => problem !== null)) {
        project.notices.warn(`teddy.${one.name} cannot be used: ${one.problem}.`);
      }
      terminal.say(terminal.style('dim', 'Set one: git config teddy.<name> <value>', 'stderr'));
      return 0;
    });
  }

  private async showOne(terminal: Terminal, project: Project, text: string): Promise<number> {
    if (/^(?:teddy\.)?key$/i.test(text)) {
      throw new TeddyError('BAD_SETTING', 'The key is never printed.', '`teddy config` says where it comes from.');
    }
    const found = await project.settings.find(parseSettingName(text));
    const value = requireUsable(found);
    if (this.json) this.printJson(terminal, 'config', { settings: [toListed(found)] });
    else if (value === undefined) terminal.say(`teddy.${found.name} is not set: ${settingOf(found.name).fallback}.`);
    else terminal.print(`${toVisible(value)}\n`);
    return 0;
  }
}

function isUsable(found: FoundSetting[], wanted: string): boolean {
  return found.some(({ name, problem }) => name === wanted && problem === null);
}

function toListed(found: FoundSetting) {
  const { variable, tracked, purpose, fallback } = settingOf(found.name);
  return { ...found, fallback, purpose, variable, tracked };
}

function renderSettings(terminal: Terminal, found: FoundSetting[], key: string | null): string {
  const rows = found.map(({ name, value, origin }) => {
    const { fallback, purpose } = settingOf(name);
    return { cells: [name, value ?? fallback, origin], purpose, isSet: value !== null };
  });
  const keyCells = ['key', key === null ? 'none' : 'set', key ?? 'default'];
  rows.push({ cells: keyCells, purpose: 'what the endpoint knows you by', isSet: key !== null });
  const shown = rows.map((row) => ({ ...row, cells: row.cells.map((cell) => toVisible(cell)) }));
  const widths = [0, 1, 2].map((at) => Math.max(...shown.map(({ cells }) => widthOf(cells[at] ?? ''))));
  const whole = Math.max(...shown.map(({ purpose }) => purpose.length)) + widths.reduce((sum, one) => sum + one + 2, 0);
  const fits = whole <= terminal.columns;
  return shown
    .map(({ cells, purpose, isSet }) => {
      const padded = cells.map((cell, at) => padTo(cell, widths[at] ?? 0)).join('  ');
      const line = fits ? `${padded}  ${purpose}` : `${padded.trimEnd()}\n  ${purpose}`;
      return `${isSet ? line : terminal.style('dim', line)}\n`;
    })
    .join('');
}
