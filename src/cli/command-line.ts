/** Checks a command line against its command's declarations, and explains any mistake. */
import { TeddyError } from '../errors.ts';
import { nearestName } from '../session/text/name-some.ts';
import { longName, type CommandPage, type OptionSpec } from './command-page.ts';
import { withParameters } from './command-help.ts';

/** The option that every command has in addition to its own options. */
const help: OptionSpec = { names: ['-h', '--help'], value: null, describe: '', completes: [] };

/**
 * Returns the words in the form that the command parser takes: `=` binds every value to its option, so that the parser
 * never reads a value that begins with a hyphen as an option. Throws USAGE for words that the command does not take,
 * and when something is missing.
 */
export function readWords(page: CommandPage, words: readonly string[]): string[] {
  const { bound, given, texts } = bindWords(page, words);
  if (given.has(help)) return bound;
  refuseTogether(page, given);
  requireAll(page, given);
  countTexts(page, texts.slice(page.path.split(' ').length - 1));
  return bound;
}

interface BoundWords {
  bound: string[];
  /** The options that the user gave. */
  given: Set<OptionSpec>;
  /** All other words, beginning with the command's own. */
  texts: string[];
}

function bindWords(page: CommandPage, words: readonly string[]): BoundWords {
  const find = (name: string) => [...page.options, help].find(({ names }) => names.includes(name));
  const read: BoundWords = { bound: [], given: new Set(), texts: [] };
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '--') {
      read.texts.push(...words.slice(at + 1));
      read.bound.push(...words.slice(at));
      break;
    }
    if (word === '-' || !word.startsWith('-')) {
      read.texts.push(word);
      read.bound.push(word);
      continue;
    }
    const [name, inline] = splitOption(word);
    const spec = find(name);
    if (spec?.value == null || spec.value.startsWith('[')) {
      for (const one of findSwitches(page, word, find)) read.given.add(one);
      read.bound.push(word);
      continue;
    }
    // Refuses a second --message, because one of the two texts would be lost.
    if (longName(spec) === '--message' && read.given.has(spec))
      throw new TeddyError('USAGE', `You gave ${name} twice.`, 'Use it once; the text may have several lines.');
    read.given.add(spec);
    if (inline === undefined) at += 1;
    const value = inline ?? words[at];
    if (value === undefined) throw usageError(page, `${longName(spec)} needs a value.`);
    read.bound.push(`${longName(spec)}=${value}`);
  }
  return read;
}

/** Splits `--name=value`, `-nvalue`, and `-n=value`, which git users write. */
function splitOption(word: string): [name: string, inline: string | undefined] {
  const [, name = word, inline] = (word.startsWith('--') ? /^(--[^=]*)=(.*)$/s : /^(-.)=?(.+)$/s).exec(word) ?? [];
  return [name, inline];
}

/** Finds the switches in a word: a single one, a negated one (`--no-gate`), or several short ones together (`-yn`). */
function findSwitches(page: CommandPage, word: string, find: (name: string) => OptionSpec | undefined): OptionSpec[] {
  const name = word.replace(/=.*/s, '');
  const one = find(name) ?? find(name.replace(/^--no-/, '--'));
  const takesInline = one?.value?.startsWith('[') === true;
  if (one !== undefined && (name === word || takesInline)) return [one];
  const several = /^-[a-zA-Z]{2,}$/.test(word) ? Array.from(word.slice(1), (letter) => find(`-${letter}`)) : [];
  const switches = several.flatMap((each) => (each?.value === null ? [each] : []));
  if (switches.length > 0 && switches.length === several.length) return switches;
  const takesText = page.parameters.length > 0;
  if (takesText && !/^--?[a-z]/i.test(word))
    throw usageError(page, `\`${page.path}\` reads ${JSON.stringify(word)} as an option.`, 'Put -- before it. ');
  const withValue = one === undefined ? '' : ' that takes a value';
  throw usageError(page, `\`${page.path}\` has no option ${name}${withValue}.`, adviseOption(page, name));
}

/** Gives advice when the user typed a parameter as an option: `push --remote origin`, `blame -L 3,5 file`. */
function adviseOption({ parameters }: CommandPage, name: string): string {
  const meant = parameters.find((one) => `--${one.name}` === name);
  if (meant !== undefined) return `Pass the ${meant.name} as a separate word. `;
  return name.startsWith('-L') && parameters.some((one) => one.name.includes(':line'))
    ? 'Put the lines after the file: FILE:3-5. '
    : '';
}

function refuseTogether({ options }: CommandPage, given: ReadonlySet<OptionSpec>): void {
  const nameOf = ({ names }: OptionSpec) => names[0] ?? '';
  const isGiven = (name: string) => [...given].some((one) => nameOf(one) === name);
  for (const one of options.filter((each) => given.has(each))) {
    const { excludes = [], requires } = one;
    const beside = [...given].filter((each) => each === one || excludes.includes(nameOf(each)));
    if (beside.length > 1) throw exclusionError(...beside.map(nameOf));
    if (requires === undefined || requires.some(isGiven)) continue;
    const others = requires.join(' or ');
    const name = nameOf(one);
    throw new TeddyError('USAGE', `${name} goes with ${others}.`, `Add ${others}, or omit ${name}.`);
  }
}

export function exclusionError(...names: string[]): TeddyError {
  return new TeddyError('USAGE', `${names.join(' and ')} cannot be combined.`, 'Use one of them.');
}

function requireAll(page: CommandPage, given: ReadonlySet<OptionSpec>): void {
  const missing = page.options.find((one) => one.required && !given.has(one));
  if (missing !== undefined) throw usageError(page, `\`${page.path}\` needs ${longName(missing)}.`);
}

function countTexts(page: CommandPage, texts: readonly string[]): void {
  const { parameters, path } = page;
  const least = parameters.filter(({ isOptional }) => !isOptional).length;
  if (texts.length < least) throw usageError(page, `An argument or option is missing: \`${withParameters(page)}\`.`);
  const extra = parameters.some(({ isRest }) => isRest) ? undefined : texts[parameters.length];
  if (extra === undefined) return;
  const advice = parameters.length > 0 ? 'Put text with spaces in quotes. ' : '';
  throw usageError(page, `\`${path}\` does not take ${JSON.stringify(extra)}.`, advice);
}

function usageError({ path }: CommandPage, message: string, advice = ''): TeddyError {
  return new TeddyError('USAGE', message, `${advice}To see what it takes: \`${path} --help\`.`);
}

/**
 * Returns the error for words that do not name a command. `paths` contains every command, such as `teddy plan`; `typed`
 * is what the user typed before the words: `teddy`, or `teddy session` for the long form.
 */
export function toUnknownCommand(
  [first = '', second = '']: readonly string[],
  paths: readonly string[],
  typed = 'teddy',
): TeddyError {
  const isFamily = paths.some((path) => path.startsWith(`teddy ${first} `));
  const family = isFamily ? `teddy ${first}` : 'teddy';
  const word = isFamily ? second : first;
  const isOption = word.startsWith('-');
  const meant = isOption ? null : findMeantCommand(family, word, paths);
  const list = `teddy help ${isFamily ? first : typed === 'teddy' ? 'all' : 'session'}`;
  return new TeddyError(
    'USAGE',
    isOption ? `There is no option ${word}.` : `There is no command \`${isFamily ? family : typed} ${word}\`.`,
    `${meant === null ? '' : `Did you mean \`${meant}\`? `}To list what exists: \`${list}\`.`,
  );
}

/** The words that people type for a command's last word, from other programs and from everyday English. */
export const otherWords: Record<string, string> = {
  new: 'start create begin checkout switch make',
  add: 'new create append insert',
  begin: 'start new create open',
  plan: 'prompt request propose',
  ask: 'question query',
  chat: 'talk discuss converse',
  say: 'tell message reply answer comment',
  execute: 'apply do go perform',
  resume: 'continue proceed open',
  branch: 'fork retry alternative variant',
  approve: 'accept allow agree yes ok lgtm',
  reject: 'refuse deny decline no disapprove',
  undo: 'revert rollback restore uncommit',
  rewind: 'reset back rebase',
  land: 'merge commit finish done submit deliver squash close',
  archive: 'stash store shelve',
  delete: 'remove rm drop discard',
  remove: 'delete rm drop forget discard',
  cancel: 'abort stop delete remove rm discard',
  pause: 'stop halt suspend',
  install: 'start enable add setup on',
  uninstall: 'remove disable delete rm off',
  list: 'ls all sessions branches',
  show: 'cat print display get',
  view: 'browse browser web ui page gui',
  log: 'timeline entries reflog',
  search: 'find grep',
  diff: 'compare difference changes',
  stats: 'cost costs usage tokens price spending',
  context: 'files include',
  history: 'conversation transcript',
  why: 'who explain reason',
  blame: 'annotate praise',
  verify: 'check validate prove fsck audit',
  import: 'load',
  export: 'save dump html',
  push: 'upload publish share send',
  pull: 'download fetch clone receive',
  init: 'setup install onboard',
  config: 'configure settings set options preferences',
  models: 'providers keys login',
  doctor: 'fix repair diagnose health clean gc prune',
  serve: 'server api http listen',
  demo: 'example try sample',
  '--version': 'version',
  'help topics': 'docs manual man documentation readme',
  'help tour': 'tutorial guide learn tour',
};

/**
 * Returns the command that the word after `family` probably means, or null. `paths` contains every command, such as
 * `teddy memo add`; `family` is `teddy`, or a group such as `teddy memo`. A word's meaning counts before its spelling.
 */
function findMeantCommand(family: string, word: string, paths: readonly string[]): string | null {
  const inside = paths.filter((path) => path.startsWith(`${family} `));
  const ownNames = inside.map((path) => path.slice(family.length + 1).split(' ')[0] ?? '');
  const names = [...new Set([...ownNames, ...(family === 'teddy' ? ['session', '--version'] : [])])];
  const same = Object.keys(otherWords).filter((name) => otherWords[name]?.split(' ').includes(word));
  const meant = same.find((name) => names.includes(name.split(' ')[0] ?? ''));
  if (meant !== undefined) return `${family} ${meant}`;
  const elsewhere = paths.filter((path) => path.endsWith(` ${word}`));
  if (elsewhere.length === 1) return elsewhere[0] ?? null;
  const begun = names.filter((name) => name.startsWith(word));
  const name = begun.length === 1 ? begun[0] : nearestName(word, names);
  return name ? `${family} ${name}` : null;
}
