/**
 * Parses a write session's record and state from disk, which may contain anything; returns null for anything that teddy
 * would not have written.
 */
import { isObject } from '../../session/text/parse-object.ts';
import { parseRepoPath } from '../../session/paths/paths.ts';
import { isSessionId } from '../../names.ts';
import { phases, type WriteRecord, type WriteState, lineEndings } from '../../write/write.ts';
import { operations } from '../../session/settings/write-limits.ts';

type Fields = Record<string, unknown>;

export function parseRecord(value: Fields | null, id: string): WriteRecord | null {
  if (value === null || value['id'] !== id) return null;
  const texts = ['intent', 'endMarker', 'begunAt', 'bootId'];
  const isRecord =
    texts.every((name) => typeof value[name] === 'string') &&
    isTextOrNull(value['root']) &&
    isTarget(value['target']) &&
    operations.some((operation) => operation === value['operation']) &&
    !Number.isNaN(Date.parse(String(value['begunAt']))) &&
    isCount(value['pid']) &&
    typeof value['hasController'] === 'boolean' &&
    typeof value['isLinked'] === 'boolean' &&
    (value['line'] === null || isLine(value['line'])) &&
    [undefined, true, false].some((known) => value['isUnnamed'] === known) &&
    (value['base'] === null || isBase(value['base'])) &&
    (value['writer'] === undefined || isWriter(value['writer']));
  return isRecord ? (value as Fields & WriteRecord) : null;
}

/** `size` is the verified size. */
export function parseWriteState(value: Fields | null): WriteState | null {
  if (value === null || !isState(value)) return null;
  const { phase, size, activityAt, validations, findings, install, result, reason } = value;
  return { phase, size, activityAt, validations, findings, install, result, reason };
}

function isState(value: Fields): value is Fields & WriteState {
  return (
    phases.some((phase) => phase === value['phase']) &&
    ['size', 'activityAt', 'validations'].every((name) => isCount(value[name])) &&
    isListOf(value['findings'], isFinding) &&
    (value['install'] === null || isInstall(value['install'])) &&
    (value['result'] === null || (isInstall(value['result']) && isOid(value['result']['commit']))) &&
    isTextOrNull(value['reason'])
  );
}

function isInstall(value: unknown): value is Fields {
  return (
    isObject(value) &&
    isSha256(value['sha256']) &&
    isSha256(value['contentSha256']) &&
    (value['tip'] === null || isOid(value['tip'])) &&
    isBranch(value['ref']) &&
    isSession(value['session']) &&
    isSummary(value['summary']) &&
    isListOf(value['notes'], isText)
  );
}

function isSummary(value: unknown): boolean {
  const isSkipped = (one: unknown) => isObject(one) && isText(one['check']) && isText(one['reason']);
  return (
    isObject(value) &&
    isListOf(value['passed'], isText) &&
    isListOf(value['failed'], isText) &&
    isListOf(value['skipped'], isSkipped)
  );
}

function isFinding(value: unknown): boolean {
  const isPlace = (place: unknown) => place === undefined || isCount(place);
  return (
    isObject(value) &&
    isText(value['check']) &&
    isText(value['message']) &&
    isPlace(value['line']) &&
    isPlace(value['column'])
  );
}

function isBase(value: unknown): boolean {
  return (
    isObject(value) &&
    isSha256(value['sha256']) &&
    isCount(value['size']) &&
    isCount(value['mode']) &&
    lineEndings.some((known) => known === value['lineEndings']) &&
    typeof value['finalNewline'] === 'boolean' &&
    typeof value['bom'] === 'boolean'
  );
}

function isLine(value: unknown): boolean {
  return isObject(value) && isBranch(value['ref']) && isSession(value['session']);
}

function isWriter(value: unknown): boolean {
  return isObject(value) && isText(value['provider']) && isText(value['model']);
}

/** Returns true if a session may begin for this target; accepts no other spelling. */
function isTarget(value: unknown): boolean {
  if (!isText(value)) return false;
  const parsed = parseRepoPath(value);
  return 'path' in parsed && parsed.path === value;
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTextOrNull(value: unknown): boolean {
  return value === null || isText(value);
}

function isSha256(value: unknown): boolean {
  return isText(value) && /^[0-9a-f]{64}$/.test(value);
}

function isOid(value: unknown): boolean {
  return isText(value) && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value);
}

function isBranch(value: unknown): boolean {
  return isText(value) && value.startsWith('refs/heads/');
}

function isSession(value: unknown): boolean {
  return isText(value) && isSessionId(value);
}
