/**
 * Disarms the programs that a repository's own configuration names. Users who copy a repository with its `.git/config`,
 * from an archive or a shared folder, have not chosen these programs, so read-only commands run none of them. Instead,
 * git uses the value from the user's global configuration, otherwise its own program, otherwise none.
 */
import type { GitSetting } from './refs/settings.ts';
import type { Environment } from './run/run.ts';

/**
 * git uses the first value that matches the address, so an added value cannot override it; only an environment variable
 * can.
 */
const gitProxy = /^core\.gitproxy$/;

/** git uses the first value here too, and runs the program locally only for a remote that is a path on this machine. */
const uploadPack = /^remote\..*\.uploadpack$/;
/** Only the protocol `ext` runs a program named in an address. */
const protocol = /^protocol\.(?:ext\.)?allow$/;

/** teddy itself starts the pager and drops an unwanted value, as if no pager were configured. */
const pager = /^core\.pager$/;

/** Keys as git prints them, each with the value that replaces a foreign one. */
const programs: readonly (readonly [RegExp, string])[] = [
  [/^core\.fsmonitor$/, 'false'],
  [/^core\.sshcommand$/, 'ssh'],
  [/^core\.askpass$/, ''],
  [pager, ''],
  [/^core\.alternaterefscommand$/, 'true'],
  [gitProxy, 'none'],
  [/^filter\..*\.(?:clean|smudge|process)$/, ''],
  [/^diff\..*\.textconv$/, 'cat'],
  // A failing driver leaves a conflict; a driver that does nothing would look like a successful merge.
  [/^merge\..*\.driver$/, 'false'],
  [/^gpg(?:\.openpgp)?\.program$/, 'gpg'],
  [/^gpg\.x509\.program$/, 'gpgsm'],
  [/^gpg\.ssh\.program$/, 'ssh-keygen'],
  [/^credential\.(?:.*\.)?helper$/, ''],
  [uploadPack, 'never'],
  [protocol, 'never'],
];

export interface OwnConfiguration {
  settings: ReadonlyMap<string, GitSetting>;
  /** The environment for every git that teddy starts; it takes precedence over the repository's configuration. */
  env: Environment;
}

export function disarmForeignPrograms(settings: ReadonlyMap<string, GitSetting>, env: Environment): OwnConfiguration {
  const own = new Map(settings);
  const pairs: [string, string][] = [];
  for (const [key, setting] of settings) {
    const isList = key.endsWith('.helper');
    const all = [...setting.earlier, setting];
    if (!(isList ? all.some(({ isForeign }) => isForeign) : setting.isForeign)) continue;
    const chosen = all.filter(({ isForeign }) => !isForeign).map(({ value }) => value);
    const neutral = programs.find(([pattern]) => pattern.test(key))?.[1];
    if (neutral === undefined) continue;
    // An empty helper clears the helpers before it; the user's chosen helpers follow.
    const values = isList ? [neutral, ...chosen] : [isSwitch(key) ? neutral : (chosen.at(-1) ?? neutral)];
    pairs.push(...values.map((value): [string, string] => [toConfigKey(key), value]));
    if (pager.test(key) && chosen.length === 0) own.delete(key);
    else own.set(key, { value: values.at(-1) ?? neutral, origin: 'teddy', isForeign: false, earlier: [] });
    const filter = /^(filter\..*)\.(?:clean|smudge|process)$/.exec(key)?.[1];
    if (filter !== undefined && chosen.length === 0) pairs.push([`${filter}.required`, 'false']);
  }
  return { settings: own, env: pairs.length === 0 ? env : addSettings(env, pairs) };
}

function isSwitch(key: string): boolean {
  return toConfigKey(key) !== key;
}

/** Returns the key that disarms the program: the program's own key, or the switch for the protocol that would run it. */
function toConfigKey(key: string): string {
  if (uploadPack.test(key)) return 'protocol.file.allow';
  return protocol.test(key) ? 'protocol.ext.allow' : key;
}

function addSettings(env: Environment, pairs: readonly [string, string][]): Environment {
  const known = Number(env['GIT_CONFIG_COUNT'] ?? 0);
  const added: Environment = { GIT_CONFIG_COUNT: String(known + pairs.length) };
  if (pairs.some(([key]) => gitProxy.test(key))) added['GIT_PROXY_COMMAND'] = '';
  for (const [at, [key, value]] of pairs.entries()) {
    added[`GIT_CONFIG_KEY_${known + at}`] = key;
    added[`GIT_CONFIG_VALUE_${known + at}`] = value;
  }
  return { ...env, ...added };
}
