/** Gives every test the same git, independent of the machine's own configuration. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { knownPrograms } from '../../src/agents/traces.ts';

export default function setup(): () => void {
  const home = mkdtempSync(join(tmpdir(), 'teddy-home-'));
  // Without the sample hooks, which every new repository and each copy would contain.
  const template = join(home, 'template');
  for (const name of ['hooks', 'info']) mkdirSync(join(template, name), { recursive: true });
  writeFileSync(join(template, 'info', 'exclude'), '');
  writeFileSync(
    join(home, '.gitconfig'),
    `[user]\n\tname = Ada Example\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n\ttemplateDir = ${template}\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n`,
  );
  for (const key of Object.keys(process.env)) {
    if (
      /^(?:GIT_|TEDDY_|OPENAI_|XDG_CONFIG_HOME$|EDITOR$|VISUAL$|NO_COLOR$|FORCE_COLOR$|NODE_EXTRA_CA_CERTS$)/.test(key)
    ) {
      delete process.env[key];
    }
  }
  // An agent may run the tests.
  for (const variable of knownPrograms.flatMap(({ variables }) => variables))
    delete process.env[variable.replace(/=.*/s, '')];
  process.env['HOME'] = home;
  process.env['GIT_CONFIG_NOSYSTEM'] = '1';
  process.env['HINTS_SEEN_DIR'] ??= join(home, 'hints');
  return () => rmSync(home, { recursive: true, force: true });
}
