/** Looks a host up once; what is connected to afterwards is what was checked here. */
import { lookup, type LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { TeddyError } from '../errors.ts';

export type LookupHost = (host: string) => Promise<LookupAddress[]>;

export function systemLookup(host: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(host, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}

/** All addresses of a host or of an address itself. Throws PAGE_REFUSED when one of them is not public. */
export async function resolvePublic(
  host: string,
  { lookup: find, isPublic }: { lookup: LookupHost; isPublic(address: string): boolean },
): Promise<LookupAddress[]> {
  const family = isIP(host);
  const addresses = family === 0 ? await find(host) : [{ address: host, family }];
  const refused = addresses.find(({ address }) => !isPublic(address));
  if (refused) {
    const what = family === 0 ? `${host} leads to ${refused.address}, which` : refused.address;
    throw new TeddyError('PAGE_REFUSED', `${what} is not a public address`);
  }
  if (addresses.length === 0) throw new TeddyError('PAGE_FAILED', `${host} has no address`);
  return addresses;
}
