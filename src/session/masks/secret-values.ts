/** Which variables of an environment hold a secret: told by the name and by what the value looks like. */

const minLength = 12;

const secretWords = new Set(
  'key keys apikey token tokens secret secrets auth pass pwd password passwords passwd passphrase credential credentials'.split(
    ' ',
  ),
);
/** Written together: `PGPASSWORD`, `GITHUBTOKEN`, `ACCESSKEY`. No `key` alone, for `MONKEY`. */
const secretEndings = /(?:token|secret|password|passwd|passphrase|credentials?|(?:api|access|secret|private|auth)key)$/;

/** True for `API_KEY`, `githubToken`, `PGPASSWORD`; false for `MONKEY`, `KEYBOARD_LAYOUT`, `TOKENIZERS_PARALLELISM`. */
export function isSecretVariable(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return words.some((word) => secretWords.has(word) || secretEndings.test(word));
}

/**
 * False for what is too short or too common to be masked wherever it stands: words, also joined ones
 * (`production-cluster`, `us-east-1`, `user.signingKey`), numbers, dates, paths, URLs that carry no credentials.
 */
export function isSecretValue(value: string): boolean {
  if (value.length < minLength) return false;
  return ![isNumber, isReference, isPath, isPlainUrl, areWords].some((isHarmless) => isHarmless(value));
}

function isNumber(value: string): boolean {
  return /^[\d\s.,:;+TZ/-]+$/.test(value);
}

/** A shell or a template would put something else here: `${DB_PASSWORD}`, `$(pass show db)`, `<your token>`. */
function isReference(value: string): boolean {
  return /^(?:\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_]\w*|\{\{[^}]*\}\}|<[^>]*>)$/.test(value);
}

/** An absolute path begins with a name like `home`: base64 may begin with a slash as well. */
function isPath(value: string): boolean {
  return /^(?:(?:~[a-z]*|\.{1,2}|[A-Za-z]:)[\\/]|\/[A-Za-z][a-z]{1,15}(?:\/|$))/.test(value);
}

function isPlainUrl(value: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(value) || !URL.canParse(value)) return false;
  const { username, password, searchParams } = new URL(value);
  return username === '' && password === '' && ![...searchParams.keys()].some(isSecretVariable);
}

/** One number among the words is fine, as in `us-east-1`: a licence key has several. */
function areWords(value: string): boolean {
  const parts = value.split(/[-_.:/, ]+/).filter((part) => part !== '');
  const numbers = parts.filter((part) => /^v?\d{1,4}$/.test(part)).length;
  const words = parts.filter(isWord).length;
  return words > 0 && numbers <= 1 && words + numbers === parts.length;
}

/** Letters in one case or capitalised, or several such words as in `userName`. */
function isWord(part: string): boolean {
  const words = part.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
  if (words.join('') !== part) return false;
  // Random letters of both cases fall into short pieces, those of one case into unpronounceable ones.
  return words.every((word) => (words.length === 1 || word.length >= 3) && isPronounceable(word.toLowerCase()));
}

function isPronounceable(word: string): boolean {
  return word.length <= 24 && (word.length < 5 || /[aeiouy]/.test(word)) && !/[^aeiouy]{7}/.test(word);
}

const fewestCharacters = 7;
/** Only the end counts: tokens of one kind begin alike. */
const variedLength = 32;

/** False for what stands in for a token: `xxxxxxxx`, `your_token_goes_here`. A random one has digits, or letters of both cases. */
export function isVaried(value: string): boolean {
  const end = value.slice(-variedLength);
  return (/\d/.test(end) || (/[a-z]/.test(end) && /[A-Z]/.test(end))) && new Set(end).size >= fewestCharacters;
}
