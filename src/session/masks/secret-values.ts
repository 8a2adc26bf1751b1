/** Decides which environment variables contain a secret, from the name and the shape of the value. */

const minLength = 12;

const secretWords = new Set(
  'key keys apikey token tokens secret secrets auth pass pwd password passwords passwd passphrase credential credentials'.split(
    ' ',
  ),
);
/** Matches joined words: `PGPASSWORD`, `GITHUBTOKEN`, `ACCESSKEY`. Omits `key` alone because of `MONKEY`. */
const secretEndings = /(?:token|secret|password|passwd|passphrase|credentials?|(?:api|access|secret|private|auth)key)$/;

/** Returns true for `API_KEY`, `githubToken`, `PGPASSWORD`; false for `MONKEY`, `KEYBOARD_LAYOUT`, `TOKENIZERS_PARALLELISM`. */
export function isSecretVariable(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return words.some((word) => secretWords.has(word) || secretEndings.test(word));
}

/**
 * Returns false for values that are too short or too common to mask everywhere: words, including joined ones
 * (`production-cluster`, `us-east-1`, `user.signingKey`), numbers, dates, paths, and URLs without credentials.
 */
export function isSecretValue(value: string): boolean {
  if (value.length < minLength) return false;
  return ![isNumber, isReference, isPath, isPlainUrl, areWords].some((isHarmless) => isHarmless(value));
}

function isNumber(value: string): boolean {
  return /^[\d\s.,:;+TZ/-]+$/.test(value);
}

/** Recognizes text that a shell or a template would replace: `${DB_PASSWORD}`, `$(pass show db)`, `<your token>`. */
function isReference(value: string): boolean {
  return /^(?:\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_]\w*|\{\{[^}]*\}\}|<[^>]*>)$/.test(value);
}

/** Recognizes a path. An absolute path must begin with a name like `home`, because base64 may begin with a slash too. */
function isPath(value: string): boolean {
  return /^(?:(?:~[a-z]*|\.{1,2}|[A-Za-z]:)[\\/]|\/[A-Za-z][a-z]{1,15}(?:\/|$))/.test(value);
}

function isPlainUrl(value: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(value) || !URL.canParse(value)) return false;
  const { username, password, searchParams } = new URL(value);
  return username === '' && password === '' && ![...searchParams.keys()].some(isSecretVariable);
}

/** Recognizes words. One number among them is allowed, as in `us-east-1`; a license key has several. */
function areWords(value: string): boolean {
  const parts = value.split(/[-_.:/, ]+/).filter((part) => part !== '');
  const numbers = parts.filter((part) => /^v?\d{1,4}$/.test(part)).length;
  const words = parts.filter(isWord).length;
  return words > 0 && numbers <= 1 && words + numbers === parts.length;
}

/** Recognizes letters in one case or capitalized, and joined words as in `userName`. */
function isWord(part: string): boolean {
  const words = part.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
  if (words.join('') !== part) return false;
  // Random letters of mixed case split into short pieces, and random letters in one case are unpronounceable.
  return words.every((word) => (words.length === 1 || word.length >= 3) && isPronounceable(word.toLowerCase()));
}

function isPronounceable(word: string): boolean {
  return word.length <= 24 && (word.length < 5 || /[aeiouy]/.test(word)) && !/[^aeiouy]{7}/.test(word);
}

const fewestCharacters = 7;
/** Only the end counts, because tokens of the same kind begin alike. */
const variedLength = 32;

/** Returns false for placeholders: `xxxxxxxx`, `your_token_goes_here`. A random token has digits, or letters of both cases. */
export function isVaried(value: string): boolean {
  const end = value.slice(-variedLength);
  return (/\d/.test(end) || (/[a-z]/.test(end) && /[A-Z]/.test(end))) && new Set(end).size >= fewestCharacters;
}
