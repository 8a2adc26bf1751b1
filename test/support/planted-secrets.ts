/**
 * Secrets of every kind that a rule looks for, and look-alikes. All are made up here, and assembled from pieces, so
 * that scanners find nothing in this repository.
 */

export interface PlantedSecret {
  before: string;
  secret: string;
  after: string;
  kind: string;
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** This many letters and digits, the same ones for the same seed. */
export function letters(length: number, seed: number, from = alphabet): string {
  let state = seed * 2654435761 + 12345;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return from[Math.floor((state / 2 ** 32) * from.length)];
  }).join('');
}

const upper = (length: number, seed: number) => letters(length, seed, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567');

function secretOf(kind: string, secret: string, before = 'x = "', after = '";'): PlantedSecret {
  return { before, secret, after, kind };
}

function pem(type: string, body: string): string {
  const lines = body.match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${type}-----`, ...lines, `-----END ${type}-----`].join('\n');
}

const rsa = 'RSA PRIVATE' + ' KEY';
const openssh = 'OPENSSH PRIVATE' + ' KEY';
/** JSON in base64 that ends like the tokens: the closing brace is the first of three bytes. */
const opsToken = (seed: number) => {
  const head = `{"email":"ada","secretKey":"${letters(99, seed)}"`;
  return `ops_${Buffer.from(`${head}${' '.repeat((3 - (head.length % 3)) % 3)}}`)
    .toString('base64')
    .replace(/=+$/, '')}`;
};

/** By rule in the preset. */
export const secretsByRule: Record<string, PlantedSecret[]> = {
  aws: [
    secretOf('aws access key', 'AK' + `IA${upper(16, 1)}`),
    secretOf('aws access key', 'AS' + `IA${upper(16, 2)}`, 'id=', '\n'),
    secretOf('aws secret key', letters(40, 3), 'AWS_SECRET_' + 'ACCESS_KEY = "', '"'),
    secretOf('aws secret key', `/${letters(38, 4)}+`.replace(/\+$/, 'Q'), 'secret_' + 'access_key: ', ' # mine'),
  ],
  gcp: [
    secretOf(
      'gcp private key',
      JSON.stringify(`${pem('PRIVATE' + ' KEY', `MI${letters(600, 5)}`)}\n`).slice(1, -1),
      '{"type":"service_account","private_' + 'key_id":"none","private_' + 'key":"',
      '"}',
    ),
    secretOf(
      'gcp private key',
      letters(40, 6, '0123456789abcdef'),
      '{ "private_' + 'key_id" : "',
      '", "private_' + 'key": null }',
    ),
  ],
  privatekey: [
    secretOf('private key', pem(rsa, `MI${letters(600, 7)}`), 'key:\n', '\n'),
    secretOf('private key', pem(openssh, `b3BlbnNzaC1rZXktdjE${letters(300, 8)}`), '', '\nmore'),
  ],
  npm: [
    secretOf('npm token', 'np' + `m_${letters(36, 9)}`),
    secretOf('npm token', `${letters(30, 10)}==`, '//registry.example.com/:_auth' + 'Token=', '\n'),
    secretOf(
      'github token',
      `${letters(20, 11)}.${letters(20, 12)}`,
      'https://',
      ':x-oauth' + '-basic@github.com/ada/notes.git',
    ),
  ],
  basicauth: [
    secretOf('basic auth', `ada:${letters(20, 12)}`, 'curl https://', '@api.acme.io/v1'),
    secretOf('basic auth', `deploy:${letters(9, 13)}`, 'ftp://', '@files.acme.io'),
    secretOf('basic auth', 'user:pass' + '1234', 'and http://', '@localhost:8080/'),
    secretOf('basic auth', `ida:${letters(9, 43)}`, '"http://', '@shop.test/"'),
  ],
  slack: [
    secretOf(
      'slack token',
      'xo' + `xb-${letters(12, 14, '0123456789')}-${letters(12, 15, '0123456789')}-${letters(24, 16)}`,
    ),
    secretOf(
      'slack webhook',
      'https://hooks.slack' + `.com/services/T${upper(8, 17)}/B${upper(8, 18)}/${letters(24, 19)}`,
    ),
  ],
  sendgrid: [
    secretOf('sendgrid key', 'S' + `G.${letters(22, 20)}.${letters(43, 21)}`),
    secretOf('sendgrid key', 'S' + `G.${letters(22, 22)}.${letters(20, 23)}-${letters(22, 24)}`, '', ''),
  ],
  shopify: [
    secretOf('shopify key', 'shp' + `at_${letters(32, 25)}`),
    secretOf('shopify key', 'shp' + `ss_${letters(40, 26)}`, '', '\n'),
  ],
  github: [
    secretOf('github token', 'gh' + `p_${letters(36, 27)}`),
    secretOf('github token', 'gh' + `s_${letters(36, 28)}`, 'token ', ' ok'),
    secretOf('github token', 'github' + `_pat_${letters(82, 29)}`, '(', ')'),
  ],
  openai: [
    secretOf('openai key', 's' + `k-${letters(20, 30)}T3Blbk${'FJ'}${letters(20, 31)}`),
    secretOf('openai key', 's' + `k-proj-${letters(74, 32)}T3Blbk${'FJ'}${letters(74, 33)}`),
  ],
  anthropic: [
    secretOf('anthropic key', 'sk-an' + `t-api03-${letters(93, 34)}AA`),
    secretOf('anthropic key', 'sk-an' + `t-api04-${letters(93, 35)}AA`, '', '\n'),
  ],
  linear: [
    secretOf('linear key', 'lin' + `_api_${letters(40, 36)}`),
    secretOf('linear key', 'lin' + `_api_${letters(32, 37)}`, '', ''),
  ],
  '1password': [secretOf('1password token', opsToken(1)), secretOf('1password token', opsToken(4), '', '\n')],
  'database-connection-string': [
    secretOf('database password', letters(16, 40), 'postgres://ada:', '@db.acme.io:5432/notes'),
    secretOf('database password', letters(16, 41), '"mysql://ada:', '@db.acme.io/notes"'),
    secretOf('database password', letters(16, 42), 'mongodb+srv://ada:', '@cluster0.acme.net/?retryWrites=true'),
    secretOf('database password', 'sec' + 'ret', 'DATABASE_URL=postgres://ida:', '@localhost:5432/x'),
    secretOf('database password', letters(8, 44), 'mysql://ida:', '@db.test/x'),
  ],
};

/** By rule in the preset: text that must stay unchanged. */
export const lookAlikes: Record<string, string[]> = {
  aws: [
    `${'AK' + 'IA'}${upper(17, 1)} is too long, ${'AK' + 'IA'}${upper(12, 1)} is too short`,
    'AWS_SECRET_' + `ACCESS_KEY=\${AWS_KEY}`,
    'arn:aws:iam::123456789012:role/deploy and account_id: 1234-5678-9012',
  ],
  gcp: ['{"private_key_id":"abc","private_key":"none"}', '{"type":"service_account","private_key_id":null}'],
  privatekey: [
    '-----BEGIN PRIVATE' + ' KEY-----\n...\n-----END PRIVATE' + ' KEY-----',
    '-----BEGIN PUBLIC KEY-----\n' + letters(200, 7) + '\n-----END PUBLIC KEY-----',
  ],
  npm: [
    'np' + 'm_config_user_agent=npm/10 and ' + 'np' + `m_${letters(35, 9)}`,
    '//registry.example.org/:_auth' + 'Token=${NPM_TOKEN}\n//x/:_auth' + 'Token=your-token-goes-here',
  ],
  basicauth: [
    'https://ada:secret-word-1@example.com/ and http://user:pass1234@api.example.org:8080/',
    'https://ada:{password}@acme.io/ https://acme.io:8080/@scope/name',
  ],
  slack: ['xoxb- is how tokens begin', 'https://hooks.slack' + '.com/services/ is where they go'],
  sendgrid: ['S' + 'G.utils.format', 'S' + `G.${letters(22, 20)}.${letters(40, 21)}`],
  shopify: ['shp' + `at_${letters(31, 25)}`, 'shp' + 'at_token_of_the_shop_that_is_not_one'],
  github: ['gh' + `p_${letters(35, 27)}`, 'gh' + `p_${letters(37, 27)}`, 'graph' + `s_${letters(20, 1)}`],
  openai: ['s' + 'k-learn-contrib', 's' + `k-${letters(48, 30)}`.replace('T3B', 'xxx')],
  anthropic: ['sk-an' + 't-api03-...', 'sk-an' + `t-api03-${letters(60, 34)}`],
  linear: ['lin' + '_api_key', 'lin' + `_api_${letters(31, 36)}`],
  '1password': ['ops_ey' + letters(40, 1), 'ops_ey' + `${letters(200, 2)}fQ`],
  'database-connection-string': [
    'postgres://localhost:5432/notes and mysql://ada@db.acme.io/notes',
    'postgres://ada:${DB_PASSWORD}@db.acme.io/ mongodb://ada:password@db.acme.io/ postgres://a:b1c2d3@db.example.com/x',
  ],
};
