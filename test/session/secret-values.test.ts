import { describe, expect, test } from 'vitest';
import { isSecretValue, isSecretVariable } from '../../src/session/masks/secret-values.ts';

describe('variable names', () => {
  test.each([
    'API_KEY',
    'OPENAI_API_KEY',
    'githubToken',
    'PGPASSWORD',
    'MYSQL_PWD',
    'DB_PASS',
    'db.password',
    'npm_auth',
    'AWS_SECRET_ACCESS_KEY',
    'APIKEY',
    'GH_TOKEN',
    'clientSecret',
    'SSH_PASSPHRASE',
    'CREDENTIALS',
    'HTTPAuth',
  ])('include %s as that of a secret', (name) => expect(isSecretVariable(name)).toBe(true));

  test.each([
    'KEYBOARD_LAYOUT',
    'MONKEY',
    'TOKENIZERS_PARALLELISM',
    'GIT_AUTHOR_NAME',
    'PASSENGER',
    'XAUTHORITY',
    'HOME',
    'SECRETARY',
    'BYPASS',
    'COMPASS_URL',
    'keynote',
    'AUTHENTIC',
    '',
  ])('do not include %s', (name) => expect(isSecretVariable(name)).toBe(false));
});

describe('variable values', () => {
  test.each([
    'k3Jd92mXq81z',
    'aGkLmQzXwRtB',
    'xkqzjvbwpmtrd',
    'correct horse 9 battery 7',
    'deadbeef-0123-4567-89ab-cdef01234567',
    '/k3Jf9+Zq81zLmQz/aGk=',
    'https://ada:k3Jd92mX@acme.io/',
    'https://acme.io/hook?token=k3Jd92mX',
    'P@ssw0rd!2024',
  ])('include %s as a secret', (value) => expect(isSecretValue(value)).toBe(true));

  test.each([
    '',
    'short1',
    'k3Jd92mXq81',
    'production-cluster',
    'password_of_the_user',
    'usernamePassword',
    'us-east-1-production',
    'authentication',
    'PRODUCTION',
    'Production',
    'user.signingKey',
    '123456789012345',
    '2026-01-24T10:00:00.000Z',

    '/home/ada/.ssh/id_ed25519',
    '~/keys/server.pem',
    './certs/a1b2c3.key',
    'C:\\keys\\server-1.pem',
    '/tmp/ssh-XXa1b2c3/agent.1',

    'https://auth.acme.io/oauth2/v1/token',
    '${DB_PASSWORD_1}',
    '$(pass show db1)',
    '<your token 1>',
    'your-api-key-goes-here',
  ])('exclude %s as too common', (value) => expect(isSecretValue(value)).toBe(false));
});
