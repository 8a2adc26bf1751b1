import { findKey } from '../../app.ts';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import {
  noSessionsRemoteError,
  parseSetting,
  parseSettingName,
  requireUsable,
  type FoundSetting,
} from '../../session/settings/decide-setting.ts';
import { settingOf, settings, type SettingName } from '../../session/settings/settings.ts';
import { option, parameter, TeddyCommand, type Terminal, usage } from '../teddy-command.ts';
import { padTo, widthOf } from '../render/cut-to-width.ts';
import { toVisible } from '../../session/text/visible-text.ts';

export class ConfigCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'List all settings, or set one.',
    details: `
      Options take precedence over the environment, followed by \`git config teddy.<name>\` and
      \`.teddy/config.yaml\`, which the project tracks and which can therefore set only a few settings. For approvals,
      the strictest value wins, and that file is read from the base branch, as last fetched. With a name, it prints
      only that value, or nothing if it is not set.

      \`set\` checks a value and passes it to \`git config\`, for this repository or, with --global, for all your
      repositories; \`unset\` removes it. If another source takes precedence, teddy reports it. The API key is
      \`OPENAI_API_KEY\`, or what \`git credential\` stores for the endpoint's host and the user name \`teddy\`; it is
      never printed.
    `,
    examples: [
      ['All settings', '$0 config'],
      ['One value', '$0 config model'],
      ['Set one in this repository', '$0 config set model gpt-5'],
      ['Set one for all your repositories', '$0 config set --global temperature 0.2'],
      ['Remove one', '$0 config unset model'],
    ],
  });

  name = parameter('set|unset|name', { optional: true });
  key = parameter('name', { optional: true });
  value = parameter('value', { optional: true });
  global = option('--global', { describe: 'Set or unset it for all your repositories.' });

  protected run(terminal: Terminal): Promise<number> {
    const change = this.readChange();
    return this.withProject(terminal, async (project) => {
      if (change !== null) return this.change(terminal, project, change);
      if (this.name !== undefined) return this.showOne(terminal, project, this.name);
      const found = await Promise.all(settings.map(({ name }) => find(project, name)));
      const key = isUsable(found, 'baseUrl') ? ((await findKey(project, this.context.env))?.origin ?? null) : null;
      if (this.json) {
        this.printJson(terminal, 'config', { settings: found.map(toListed), key });
        return 0;
      }
      terminal.print(renderSettings(terminal, found, key));
      for (const one of found.filter(({ problem }) => problem !== null)) {
        project.notices.warn(`teddy.${one.name} cannot be used: ${one.problem}.`);
      }
      terminal.say(terminal.style('dim', 'Set one: teddy config set <name> <value>', 'stderr'));
      return 0;
    });
  }

  /** Returns null when the user changes nothing. */
  private readChange(): Change | null {
    const { name, key, value } = this;
    if (name !== 'set' && name !== 'unset') {
      if (key === undefined && !this.global) return null;
      const hint = `To set one: \`teddy config set ${name ?? '<name>'} ${key ?? '<value>'}\`.`;
      throw new TeddyError('USAGE', 'To change a setting, use `set` or `unset`.', hint);
    }
    const isSet = name === 'set';
    if (key === undefined || (value === undefined) === isSet) {
      const usage = isSet ? '`teddy config set <name> <value>`' : '`teddy config unset <name>`';
      throw new TeddyError(
        'USAGE',
        `\`teddy config ${name}\` takes ${isSet ? 'a name and a value' : 'a name'}.`,
        usage,
      );
    }
    refuseKey(key);
    const setting = parseSettingName(key);
    if (value?.trim() === '')
      throw new TeddyError(
        'BAD_SETTING',
        `teddy.${setting} was not changed: the value is empty.`,
        `To remove it: \`teddy config unset ${setting}\`.`,
      );
    if (value === undefined) return { name: setting, value: null };
    const parsed = parseSetting(setting, value);
    if ('value' in parsed) return { name: setting, value: parsed.value };
    const hint = `Its purpose: ${settingOf(setting).purpose}. \`teddy config ${setting}\` prints its current value.`;
    throw new TeddyError('BAD_SETTING', `teddy.${setting} was not changed: ${parsed.problem}.`, hint);
  }

  private async change(terminal: Terminal, project: Project, { name, value }: Change): Promise<number> {
    const { repository } = project;
    const scope = this.global ? 'global' : 'local';
    const key = `teddy.${name}`;
    if (name === 'sessionsRemote' && value !== null && !this.global) {
      const names = await repository.remotes.names();
      if (!names.includes(value)) throw noSessionsRemoteError(value, names, false);
    }
    if (name === 'agentsMayApprove' && value !== null) await refuseAgents(project, this.global);
    const wasSet = await repository.changeSetting(scope, key, value);
    repository.reloadSettings();
    const found = await find(project, name);
    if (this.json) {
      this.printJson(terminal, 'config', { settings: [toListed(found)] });
      return 0;
    }
    const place = this.global ? 'your global git configuration' : "this repository's git configuration";
    if (value !== null) terminal.say(`${key} is ${toVisible(value)}, in ${place}.`);
    else terminal.say(wasSet ? `${key} is no longer set in ${place}.` : `${key} was not set in ${place}.`);
    if (value === null && found.value !== null)
      terminal.say(toVisible(`It is still ${found.value} here, from ${found.origin}.`));
    if (value !== null && !found.origin.includes(`(${scope} `))
      terminal.say(toVisible(`It is still ${found.value ?? 'unset'} here: ${found.origin} takes precedence.`));
    return 0;
  }

  private async showOne(terminal: Terminal, project: Project, text: string): Promise<number> {
    refuseKey(text);
    const found = await find(project, parseSettingName(text));
    const value = requireUsable(found);
    if (this.json) this.printJson(terminal, 'config', { settings: [toListed(found)] });
    else if (value === undefined) terminal.say(`teddy.${found.name} is not set: ${settingOf(found.name).fallback}.`);
    else terminal.print(`${toVisible(value)}\n`);
    return 0;
  }
}

/** Finds a setting in this repository. For approvals, also considers the base branch. */
async function find(project: Project, name: SettingName): Promise<FoundSetting> {
  if (name !== 'approvals') return project.settings.find(name);
  return (await import('../../workflow/line/approval-policy.ts')).readPolicyHere(project);
}

/** Throws AGENT_MAY_NOT_APPROVE when an agent calls it, and BAD_SETTING when the setting would have no effect. */
async function refuseAgents({ callers }: Project, isGlobal: boolean): Promise<void> {
  const trace = await callers.findAgent();
  if (trace !== null)
    throw new TeddyError(
      'AGENT_MAY_NOT_APPROVE',
      `Only a person may decide whether agents may approve plans. ${trace.seen}`,
      'Set it in a terminal of your own, where no agent is running.',
    );
  if (!isGlobal)
    throw new TeddyError(
      'BAD_SETTING',
      'teddy.agentsMayApprove was not changed: it has an effect only in your global configuration.',
      'To set it there: `teddy config set --global agentsMayApprove true`.',
    );
}

interface Change {
  name: SettingName;
  /** Null removes the setting. */
  value: string | null;
}

function refuseKey(name: string): void {
  if (!/^(?:teddy\.)?key$/i.test(name)) return;
  const hint = '`teddy config` shows where it is set.';
  throw new TeddyError('BAD_SETTING', 'The key is never printed, and no setting stores it.', hint);
}

function isUsable(found: FoundSetting[], wanted: string): boolean {
  return found.some(({ name, problem }) => name === wanted && problem === null);
}

function toListed(found: FoundSetting) {
  const { variable = null, tracked = false, purpose, fallback } = settingOf(found.name);
  return { ...found, fallback, purpose, variable, tracked };
}

function renderSettings(terminal: Terminal, found: FoundSetting[], key: string | null): string {
  const rows = found.map(({ name, value, origin }) => {
    const { fallback, purpose } = settingOf(name);
    return { cells: [name, value ?? fallback, origin], purpose, isSet: value !== null };
  });
  const keyCells = ['key', key === null ? 'none' : 'set', key ?? 'default'];
  rows.push({ cells: keyCells, purpose: 'the key that identifies you to the endpoint', isSet: key !== null });
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
