import { BlockList } from 'node:net';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { isPublicAddress } from '../../src/session/masks/public-address.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const neverPublic = [
  // this machine, in the spellings that URLs use for it
  '127.0.0.1',
  '127.255.255.254',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0X7F.1',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.01',
  '127.0.0.1.',
  '0',
  '0.0.0.0',
  '0.1.2.3',
  '::1',
  '0:0:0:0:0:0:0:1',
  '0000:0000:0000:0000:0000:0000:0000:0001',
  '::',
  '::ffff:127.0.0.1',
  '::FFFF:7f00:1',
  '0:0:0:0:0:ffff:127.0.0.1',
  '::127.0.0.1',
  // its networks
  '10.0.0.1',
  '10.255.255.255',
  '0xa.1',
  '167772161',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '192.168.65535',
  '0xc0a80101',
  '100.64.0.1',
  '100.127.255.255',
  'fc00::1',
  'fd12:3456:789a::1',
  'fec0::1',
  '::ffff:10.0.0.1',
  '::ffff:192.168.1.1',
  // cloud services
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '169.254.43518',
  '0251.0376.0251.0376',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '64:ff9b::169.254.169.254',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::1',
  '2002:a9fe:a9fe::1',
  '2001:0:a9fe:a9fe::1',
  'fd00:ec2::254',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
  'fe80::1',
  'fe80::a9fe:a9fe',
  'febf::1',
  // reserved for other purposes
  '192.0.2.1',
  '198.51.100.1',
  '203.0.113.255',
  '198.18.0.1',
  '198.19.255.255',
  '192.88.99.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '4294967295',
  'ff02::1',
  '100::1',
  '2001:2::1',
  '2001:db8::1',
  '3fff::1',
  '5f00::1',
  '4000::1',
  // not an address
  '',
  'example.org',
  'fe80::1%eth0',
  '1.2.3.4.5',
  '256.1.1.1',
  '8.8.8.8/x',
  '8.8.8.8:80',
  '[::1]',
  ' 8.8.8.8',
  '1::2::3',
];

const alwaysPublic = [
  '1.1.1.1',
  '8.8.8.8',
  '134744072',
  '0x08080808',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '168.63.129.15',
  '169.253.255.255',
  '169.255.0.1',
  '172.15.255.255',
  '172.32.0.1',
  '192.0.1.1',
  '192.167.255.255',
  '192.169.0.1',
  '198.17.255.255',
  '198.20.0.1',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001::200e',
  '2001:200::1',
  '2001:4860:4860::8888',
  '3ffe::1',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
];

describe('a public address', () => {
  test.each(neverPublic)('is not %j', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  propertyTest.each(alwaysPublic)('is %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
});

// The same ranges, computed by node.
const reserved = new BlockList();
for (const range of [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24',
  '192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32',
].flatMap((line) => line.split(' '))) {
  const [base = '', prefix] = range.split('/');
  reserved.addSubnet(base, Number(prefix), 'ipv4');
}
const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');
const special = new BlockList();
for (const [base, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  special.addSubnet(base, prefix, 'ipv6');

const ipv4 = fc
  .oneof(
    fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 198, 203), fc.nat(255), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constantFrom(192), fc.constantFrom(0, 88, 168), fc.constantFrom(0, 1, 2, 99), fc.nat(255)),
  )
  .map((parts) => parts.join('.'));

/** Every spelling of one IPv4 address that the URL standard accepts. */
function spellings(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const bits = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (part: number) => `0x${part.toString(16)}`;
  const octal = (part: number) => `0${part.toString(8)}`;
  return [
    address,
    `${address}.`,
    String(bits),
    hex(bits),
    octal(bits),
    [a, b, c, d].map(hex).join('.'),
    [a, b, c, d].map(octal).join('.'),
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `${hex(a)}.${b}.${octal(c)}.${d}`,
  ];
}

describe("by node's block list", () => {
  propertyTest('every spelling of an IPv4 address, mapped and translated, is as public as the address', () => {
    fc.assert(
      fc.property(ipv4, (address) => {
        const isPublic = !reserved.check(address, 'ipv4');
        for (const spelling of spellings(address))
          expect([spelling, isPublicAddress(spelling)]).toEqual([spelling, isPublic]);
        for (const prefix of ['::ffff:', '64:ff9b::']) expect(isPublicAddress(prefix + address)).toBe(isPublic);
        for (const prefix of ['::', '64:ff9b:1::', 'fe80::']) expect(isPublicAddress(prefix + address)).toBe(false);
      }),
      runs(2000),
    );
  });

  propertyTest('an IPv6 address is public if it is global and not special', () => {
    const group = fc.nat(0xffff).map((value) => value.toString(16));
    const first = fc.oneof(group, fc.constantFrom('2001', '2002', '3fff', '2000', '1fff', '4000', 'fe80', '64'));
    const second = fc.oneof(group, fc.constantFrom('0', '1ff', '200', 'db8', 'db9', 'fff', '1000', 'ff9b'));
    fc.assert(
      fc.property(first, second, fc.array(group, { minLength: 6, maxLength: 6 }), (a, b, rest) => {
        fc.pre(rest.slice(0, 4).some((part) => part !== '0'));
        const address = [a, b, ...rest].join(':');
        const expected = global.check(address, 'ipv6') && !special.check(address, 'ipv6');
        expect([address, isPublicAddress(address)]).toEqual([address, expected]);
      }),
      runs(2000),
    );
  });

  propertyTest('any text gets a result', () => {
    fc.assert(fc.property(fc.string(), (text) => typeof isPublicAddress(text) === 'boolean'));
  });
});
