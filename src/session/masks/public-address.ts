/**
 * Distinguishes public internet addresses from reserved ones and from the addresses of this machine and its networks.
 */

type Range = readonly [base: string, prefix: number];

/** IANA's special-purpose registry for IPv4, without its few public blocks. */
const reservedRanges: readonly Range[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // This address looks public but belongs to the host of every Azure virtual machine.
  ['168.63.129.16', 32],
];

/**
 * IPv6 ranges that are not public: everything outside 2000::/3, and within it protocol assignments with Teredo,
 * documentation, and 6to4. Groups have 16 bits.
 */
const reservedGroups: readonly ((groups: readonly number[]) => boolean)[] = [
  ([first = 0]) => first >> 13 !== 1,
  ([first, second = 0]) => first === 0x2001 && second < 0x200,
  ([first, second]) => first === 0x2001 && second === 0xdb8,
  ([first]) => first === 0x2002,
  ([first, second = 0]) => first === 0x3fff && second < 0x1000,
];

/**
 * Returns true if a text is a public IPv4 or IPv6 address, in any spelling that URLs accept. An IPv6 address that only
 * carries an IPv4 address (mapped, NAT64) is public if the IPv4 address is.
 */
export function isPublicAddress(address: string): boolean {
  const host = toHost(address);
  if (host === null) return false;
  if (!host.startsWith('[')) return isPublicIPv4(host);
  const groups = toGroups(host.slice(1, -1));
  const carried = toCarriedIPv4(groups);
  return carried === null ? !reservedGroups.some((isIn) => isIn(groups)) : isPublicIPv4(carried);
}

/** Returns true if a parsed URL's host is an address: `127.0.0.1`, `[::1]`. */
export function isAddressHost(host: string): boolean {
  return host.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(host);
}

/** Returns true if a parsed URL's host names this machine, by name or address. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/\.$/, '');
  return /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/.test(host);
}

/** Returns the normalized spelling of an address in URLs; null when the text is not an address. */
function toHost(address: string): string | null {
  if (!/^[0-9a-fx.:]+$/i.test(address)) return null;
  try {
    const { hostname } = new URL(`https://${address.includes(':') ? `[${address}]` : address}`);
    return isAddressHost(hostname) ? hostname : null;
  } catch {
    return null;
  }
}

function isPublicIPv4(address: string): boolean {
  const bits = toBits(address);
  return !reservedRanges.some(([base, prefix]) => (bits ^ toBits(base)) >>> (32 - prefix) === 0);
}

function toBits(address: string): number {
  return address.split('.').reduce((bits, part) => (bits << 8) | Number(part), 0);
}

/** Expands the URL form of an IPv6 address, `2001:db8::1`, into eight groups. */
function toGroups(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const [before, after] = [parse(head), parse(tail ?? '')];
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}

/** Returns the IPv4 address in a mapped (`::ffff:0:0/96`) or NAT64 (`64:ff9b::/96`) address; null for any other. */
function toCarriedIPv4(groups: readonly number[]): string | null {
  const prefix = groups.slice(0, 6).join(' ');
  if (prefix !== `0 0 0 0 0 ${0xffff}` && prefix !== `${0x64} ${0xff9b} 0 0 0 0`) return null;
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.');
}
