import { describe, expect, test } from 'vitest';
import { findSecrets } from '../../src/system/secrets/find-secrets.ts';
import { masker } from '../../src/system/secrets/masker.ts';
import { forms, marked } from '../../src/system/secrets/secret-forms.ts';
import { expectLinear } from '../support/growth.ts';
import { letters } from '../support/planted-secrets.ts';

/**
 * Tokens of each kind, as short as allowed. Their random parts are inserted when the tests run, so that scanners find
 * nothing in this repository: `{a20}` stands for 20 letters and digits, h: hexadecimal digits, w: characters of base64
 * for URLs, d: digits, l: lower case and digits, u: upper case and digits, uuid: a UUID.
 */
const tokens: Record<string, string[]> = {
  'openai key': ['sk-proj-{w40}', 'sk-svcacct-{w40}', 'sk-admin-{w40}'],
  'anthropic key': ['sk-ant-api03-{w80}', 'sk-ant-admin01-{w95}', 'sk-ant-oat01-{w80}'],
  'openrouter key': ['sk-or-v1-{h64}'],
  'langfuse key': ['sk-lf-{uuid}'],
  'model key': ['sk-{h32}'],
  'perplexity key': ['pplx-{a40}'],
  'groq key': ['gsk_{a52}'],
  'xai key': ['xai-{a70}'],
  'replicate token': ['r8_{a37}'],
  'hugging face token': ['hf_{a34}', 'api_org_{a34}'],
  'cerebras key': ['csk-{l48}'],
  'together key': ['tgp_v1_{w43}'],
  'nvidia key': ['nvapi-{w60}'],
  'langsmith key': ['lsv2_pt_{h32}_{h10}', 'lsv2_sk_{h32}_{h10}'],
  'wandb key': ['wandb_v1_{w60}'],
  'pinecone key': ['pcsk_{w60}'],
  'elevenlabs key': ['sk_{h48}'],
  'tavily key': ['tvly-{a24}', 'tvly-dev-{a24}'],
  'firecrawl key': ['fc-{h32}'],
  'jina key': ['jina_{w60}'],
  'cursor key': ['key_{h64}'],
  'google key': ['AIza{w35}'],
  'google client secret': ['GOCSPX-{w28}'],
  'google token': ['ya29.{w20}'],
  'google refresh token': ['1//0{w40}'],
  'firebase key': ['AAAA{w7}:{w140}'],
  'gitlab token': [
    ...'glpat gldt glrt glrtr glcbt glptt glft glimt glagent gloas glsoat glffct glwt'
      .split(' ')
      .map((start) => `${start}-{w20}`),
    'glpat-{w27}.{l2}.{l9}',
    'glrt-t1_{w27}.{l2}{l7}',
    'glcbt-{a2}_{w20}',
    'GR1348941{w20}',
  ],
  'gitlab session': ['_gitlab_session={h32}'],
  'github token': ['ghs_{d12}_{w30}.{w30}.{w30}'],
  'bitbucket token': ['ATBB{a24}', 'ATCTT3{w150}'],
  'atlassian token': ['ATATT3{w100}'],
  'circleci token': ['CCIPAT_{a22}_{h40}', 'CCIPRJ_{a22}_{h40}'],
  'buildkite token': ['bkua_{h40}', 'bkaj_{a40}', 'bkat_{a40}', 'bkpi_{a40}', 'bkct_{a32}'],
  'sonar token': ['squ_{h40}', 'sqp_{h40}', 'sqa_{h40}'],
  'snyk token': ['snyk_uat.{h8}.{w40}', 'snyk_sat.{h8}.{w40}'],
  'sourcegraph token': ['sgp_{h40}', 'sgp_{h16}_{h40}', 'sgp_local_{h40}', 'slk_{h64}'],
  'harness key': ['pat.{w22}.{a24}.{a20}', 'sat.{w22}.{a24}.{a20}'],
  'octopus key': ['API-{u26}'],
  'aws bedrock key': ['ABSK{a109}', 'bedrock-api-key-{a40}'],
  'aws access key': ['ABIA{U16}', 'ACCA{U16}'],
  'azure key': [
    ...['AccountKey', 'SharedAccessKey', 'accountkey', 'sharedaccesskey'].map((name) => `${name}={a86}==`),
    '{a52}JQQJ99{a26}',
  ],
  'digitalocean token': ['dop_v1_{h64}', 'doo_v1_{h64}', 'dor_v1_{h64}'],
  'heroku key': ['HRKU-{uuid}', 'HRKU-AA{w58}'],
  'netlify token': ['nfp_{a36}', 'nfc_{a36}', 'nfo_{a36}', 'nfb_{a36}', 'nfu_{a36}'],
  'vercel token': ['vcp_{a20}', 'vci_{a24}', 'vca_{a24}', 'vcr_{a24}', 'vck_{a60}'],
  'cloudflare token': ['cfk_{a40}{h8}', 'cfut_{a40}{h8}', 'cfat_{a40}'],
  'cloudflare origin key': ['v1.0-{h24}-{h146}'],
  'alibaba key': ['LTAI{a20}'],
  'tencent key': ['AKID{a32}'],
  'yandex key': ['AQVN{w35}', 'YCA{w36}', 'YCM{w36}'],
  'yandex token': ['t1.{w20}.{w86}', 'y0_{w39}'],
  'fly token': ['fo1_{w43}', 'fm1a_{a100}', 'fm1r_{a100}', 'fm2_{a100}'],
  'scalingo token': ['tk-us-{w48}'],
  'render key': ['rnd_{a28}'],
  'supabase token': ['sbp_{h40}'],
  'supabase key': ['sb_secret_{w22}'],
  'planetscale token': ['pscale_tkn_{w32}', 'pscale_oauth_{w32}', 'pscale_pw_{w32}'],
  'neon key': ['napi_{l64}'],
  'aiven password': ['AVNS_{w19}'],
  'databricks token': ['dapi{h32}', 'dapi{h32}-2'],
  'clickhouse key': ['4b1d{a38}'],
  'xata key': ['xau_{a43}'],
  'openshift token': ['sha256~{w43}'],
  'vault token': ['hvs.{w24}', 'hvb.{w138}', 'hvr.{w90}'],
  'pulumi token': ['pul-{h40}'],
  'doppler token': [
    'dp.pt.{a43}',
    'dp.st.dev_main.{a43}',
    'dp.ct.{a43}',
    'dp.sa.{a43}',
    'dp.scim.{a43}',
    'dp.audit.{a43}',
  ],
  '1password key': ['A3-{u6}-{u11}-{u5}-{u5}-{u5}', 'A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}'],
  'age key': ['AGE-SECRET-KEY-1{u58}'],
  'infracost key': ['ico-{a32}'],
  'prefect key': ['pnu_{a36}', 'pnb_{a36}'],
  'tailscale key': ['tskey-auth-{a12}-{a32}', 'tskey-client-{a17}-{a20}'],
  'defined networking key': ['dnkey-{w26}-{w52}'],
  'authress key': ['sc_', 'ext_', 'scauth_', 'authress_'].map((start) => `${start}{l8}.{l4}.acc_{l12}.{a30}`),
  'pypi token': ['pypi-AgEIcHlwaS5vcmc{w60}', 'pypi-{w50}'],
  'rubygems key': ['rubygems_{h48}'],
  'crates token': ['cio{a32}'],
  'docker token': ['dckr_pat_{w27}', 'dckr_oat_{w27}'],
  'artifactory key': ['AKCp{a69}'],
  'artifactory token': ['cmVmd{a59}'],
  'nuget key': ['oy2{l43}'],
  'clojars token': ['CLOJARS_{l60}'],
  'deno token': ['ddp_{a36}', 'ddo_{a36}'],
  'grafana token': ['glc_{a32}', 'glsa_{a32}_{h8}'],
  'grafana key': ['eyJrIjoi{a70}'],
  'sentry token': ['sntrys_{a90}_{a43}', 'sntryu_{h64}', 'sntrya_{h64}'],
  'new relic key': [
    ...['NRAK', 'NRII', 'NRIQ', 'NRAA', 'NRBR', 'NRRA', 'NRSP'].map((start) => `${start}-{u27}`),
    'NRJS-{h19}',
    '{h36}NRAL',
  ],
  'dynatrace token': ['c01', 's01', 's02', 's03', 's04', 's06', 's08', 's16'].map((kind) => `dt0${kind}.{u24}.{u64}`),
  'honeycomb key': ['hcaik', 'hcamk', 'hcalk', 'hcxik', 'hcxmk', 'hcxlk'].map((start) => `${start}_{l58}`),
  'posthog key': ['phx_{a43}'],
  'axiom token': ['xaat-{uuid}', 'xapt-{uuid}'],
  'launchdarkly key': ['api-{uuid}', 'sdk-{uuid}'],
  'statsig key': ['secret-{a40}'],
  'rootly key': ['rootly_{h64}'],
  'stripe key': ['live', 'test', 'prod'].flatMap((mode) => [`sk_${mode}_{a24}`, `rk_${mode}_{a16}`]),
  'stripe webhook secret': ['whsec_{a32}'],
  'square token': ['sq0atp-{w22}', 'sq0csp-{w43}', 'EAAA{w60}'],
  'facebook token': ['EAA{a120}'],
  'instagram token': ['IGQ{w100}', 'IGAA{w100}'],
  'paypal token': ['access_token$production${l16}${h32}', 'access_token$sandbox${l16}${h32}'],
  'shippo token': ['shippo_live_{h40}', 'shippo_test_{h40}'],
  'easypost key': ['EZAK{a54}', 'EZTK{a54}'],
  'flutterwave key': ['FLWSECK_TEST-{l12}', 'FLWSECK-{h32}-X', 'FLWPUBK_TEST-{h32}-X', 'FLWPUBK-{h32}-X'],
  'razorpay key': ['rzp_live_{a14}', 'rzp_test_{a14}'],
  'lob key': ['live_{h35}', 'test_{h35}', 'test_pub_{h31}'],
  'gocardless token': ['live_{w40}', 'sandbox_{w40}'],
  'mollie key': ['live_{a30}'],
  'plaid token': ['sandbox', 'development', 'production'].map((stage) => `access-${stage}-{uuid}`),
  'duffel token': ['duffel_test_{w43}', 'duffel_live_{w43}'],
  'paddle key': ['pdl_live_apikey_{l26}_{a22}_{a3}', 'pdl_sdbx_apikey_{l26}_{a22}_{a3}'],
  'polar token': ['polar_oat_{w40}', 'polar_pat_{w40}'],
  'slack token': [
    'xoxe.{a20}-1-{u146}',
    'xoxe-1-{u146}',
    'xoxs-{d10}-{d10}-{h32}',
    'xoxc-{d12}-{h40}',
    'xoxd-{a40}%2B{a20}',
  ],
  'slack webhook': ['workflows', 'triggers'].map((kind) => `https://hooks.slack.com/${kind}/T{u9}/{d14}/{a24}`),
  'discord webhook': ['discord.com', 'discordapp.com', 'ptb.discord.com', 'canary.discord.com'].map(
    (host) => `https://${host}/api/webhooks/{d18}/{w68}`,
  ),
  'teams webhook': [
    'https://acme.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{h32}/{uuid}',
    'https://acme.office.com/webhook/{uuid}@{uuid}/IncomingWebhook/{h32}/{uuid}',
    'https://prod-01.westeurope.logic.azure.com:443/workflows/{h32}/triggers/manual/paths/invoke?api-version=2016&sig={w43}',
  ],
  'discord token': ['MT', 'MD', 'Mj', 'Mz', 'ND', 'NT', 'Nj', 'Nz', 'OD', 'OT'].map(
    (start) => `${start}{a22}.{w6}.{w27}`,
  ),
  'telegram token': ['{d10}:AA{w33}', '{d8}:AA{w33}'],
  'twilio key': ['SK{h32}'],
  'mailgun key': ['key-{h32}', 'pubkey-{h32}'],
  'mailchimp key': ['{h32}-us1', '{h32}-us21'],
  'brevo key': ['xkeysib-{h64}-{a16}', 'xsmtpsib-{h64}-{a16}'],
  'resend key': ['re_{a8}_{a24}'],
  'intercom token': ['dG9rO{a55}'],
  'hubspot token': ['pat-na1-{uuid}', 'pat-na2-{uuid}', 'pat-eu1-{uuid}', 'pat-ap1-{uuid}'],
  'onesignal key': ['os_v2_app_{b103}', 'os_v2_org_{b103}'],
  'twitch token': ['oauth:{l30}'],
  'twitter token': ['AAAAAAAAAAAAAAAAAAAAA{a20}%2B{a30}%3D{a30}'],
  'linear token': ['lin_oauth_{h64}'],
  'notion token': ['ntn_{d11}{a35}', 'secret_{a43}'],
  'airtable token': ['pat{a14}.{h64}'],
  'postman key': ['PMAK-{h24}-{h34}', 'PMAT-{u26}'],
  'figma token': ['figd', 'figo', 'figu', 'figoh', 'figor'].map((start) => `${start}_{w40}`),
  'frameio token': ['fio-u-{w64}'],
  'readme key': ['rdme_{l70}'],
  'typeform token': ['tfp_{w44}', 'tfp_{w59}'],
  'asana token': ['0/{d16}:{h32}', '1/{d16}:{h32}', '2/{d16}/{d16}:{h32}'],
  'trello token': ['ATTA{h64}'],
  'clickup token': ['pk_{d8}_{u32}'],
  'contentful token': ['CFPAT-{w43}'],
  'mapbox token': ['sk.eyJ{w60}.{w22}', 'pk.eyJ{w60}.{w22}', 'tk.eyJ{w60}.{w22}'],
  'adobe secret': ['p8e-{w32}'],
  'dropbox token': ['sl.{w135}', 'sl.u.{w130}', '{a11}AAAAAAAAAA{w43}'],
  'adafruit key': ['aio_ABCD{d2}{a22}'],
  'wakatime key': ['waka_{uuid}'],
  'lichess token': ['lip_{a16}', 'lio_{a20}'],
  'zuplo key': ['zpka_{l32}_{h8}'],
  'settlemint token': ['sm_aat_{a16}', 'sm_pat_{a16}', 'sm_sat_{a16}'],
  'intra42 secret': ['s-s4t2ud-{h64}', 's-s4t2af-{h64}'],
  'trigger key': ['tr_dev_{a20}', 'tr_prod_{a20}', 'tr_pat_{a20}'],
  'inngest key': ['signkey-prod-{h64}', 'signkey-test-{h32}', 'signkey-branch-{h32}'],
  jwt: [
    'eyJ{w33}.eyJ{w60}.{w43}',
    'eyJ{w33}.eyJ{w20}.',
    'eyJ{w40}..{w16}.{w40}.{w22}',
    'eyJ{w40}.{w200}.{w16}.{w40}.{w22}',
  ],
  'secret token': ['secret-token:{w20}', 'secret-token:{a10}%20{a10}'],
  'azure client secret': ['{a3}8Q~{w31}', '{a3}7Q~{w34}'],
  'azure devops token': ['{a76}AZDO{a4}'],
  'terraform token': ['{a14}.atlasv1.{w60}'],
  'maxmind key': ['{a6}_{a29}_mmk'],
  'rapidapi key': ['{l10}msh{l15}p1{l6}jsn{l12}'],
};

const alphabets: Record<string, string> = {
  a: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
  h: '0123456789abcdef',
  w: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
  d: '123456789',
  l: 'abcdefghijklmnopqrstuvwxyz0123456789',
  u: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
  U: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  b: 'abcdefghijklmnopqrstuvwxyz234567',
};

/** Base64 for URLs has two characters besides letters and digits; tokens hardly ever begin or end with them. */
function random(alphabet: string, length: number, seed: number): string {
  const text = letters(length, seed, alphabets[alphabet]);
  return alphabet === 'w' && length > 12 ? `${text.slice(0, 5)}_${text.slice(6, 9)}-${text.slice(10)}` : text;
}

function fill(template: string, seed: number, put: (alphabet: string, length: number, seed: number) => string): string {
  let at = seed * 100;
  return template
    .replaceAll('{uuid}', '{h8}-{h4}-{h4}-{h4}-{h12}')
    .replace(/\{([a-zA-Z])(\d+)\}/g, (_, alphabet: string, length: string) => put(alphabet, Number(length), (at += 1)));
}

const settings = { get: async () => undefined };
const notices = { info: () => undefined, warn: () => undefined };
const mask = async (text: string) => (await masker({ environment: {}, root: null, settings, notices }).mask(text)).text;

/** A name that belongs to the form but is not part of the secret. */
const named = /^(?:_gitlab_session|\w*[kK]ey)=/;

test('every form and every prefix has a token here', () => {
  expect([...new Set([...forms, ...marked].map(([kind]) => kind))].toSorted()).toEqual(Object.keys(tokens).toSorted());
  expect(Object.keys(tokens).length).toBeGreaterThan(120);
  for (const [kind, starts] of forms) {
    for (const start of starts.split(' '))
      expect(
        tokens[kind]?.some((token) => token.startsWith(start)),
        `${kind}: ${start}`,
      ).toBe(true);
  }
  for (const [kind, mark] of marked)
    expect(
      tokens[kind]?.some((token) => token.includes(mark)),
      mark,
    ).toBe(true);
});

describe.each(Object.entries(tokens))('%s', (kind, templates) => {
  test.each(templates)('%s is masked completely, wherever it is', async (template) => {
    for (const seed of [1, 2, 3]) {
      const token = fill(template, seed, random);
      const name = named.exec(token)?.[0] ?? '';
      const masked = `${name}[masked: ${kind}]${token.endsWith('.') ? '.' : ''}`;
      const places: [string, string][] = [
        ['', ''],
        ['x = "', '";'],
        ['(', ')'],
        ['first\n', '\r\nlast'],
        ['{"a":"b\\n', '\\nc"}'],
        ['\u001b[32m', '\u001b[0m'],
        ['`', '`, and'],
        ['a%20', '%20b'],
        ['It is ', '. Next'],
      ];
      for (const [before, after] of places) {
        // Some tokens may contain escapes themselves.
        if (after.startsWith('%') && /^(?:xoxd|secret-token|https:|AAAAA)/.test(token)) continue;
        const text = `${before}${token}${after}`;
        const found = await mask(text);
        expect(found, text).toBe(`${before}${masked}${after}`);
        expect(await mask(found)).toBe(found);
      }
    }
  });

  test.each(templates)('text that merely looks like %s is left', async (template) => {
    // Words are not tokens; if the form has digits or capitals between them, they could be.
    const hasOwn = /[A-Z\d]/.test(template.slice(template.indexOf('}')).replace(/\{[^}]*\}/g, ''));
    const lookAlikes = [
      fill(template, 4, (_, length) => 'x'.repeat(length)),
      hasOwn ? '' : fill(template, 5, (_, length) => 'your_token_goes_here_'.repeat(20).slice(0, length)),
      fill(template, 6, (_, length) => `<${'token'.slice(0, length)}>`),
      `${fill(template, 4, random).slice(0, template.indexOf('{') + 7)}...`,
    ];
    for (const text of lookAlikes) expect(await mask(text)).toBe(text);
  });
});

test('identifiers, hashes and data that begin like tokens are left', async () => {
  for (const text of [
    'test_reads_the_whole_file_and_closes_it_again_after_that1 live_reload_is_on sk_buff re_compile_pattern_cache_entry1',
    `sha512-${'a1B2'.repeat(21)}==`,
    `sha256:${letters(64, 1, alphabets['h'])} ${letters(40, 2, alphabets['h'])}`,
    '123e4567-e89b-12d3-a456-426614174000',
    `data:image/png;base64,iVBORw0KGgo${letters(400, 3)}+/${letters(200, 4)}=`,
    'task_live_1234567890abcdefXYZ risk-1234567890abcdef1234567890abcdef',
    'hf_transfer hf_hub_download glpat-<token> ghp_${TOKEN} AIzaSy... Bearer ${{ secrets.GITHUB_TOKEN }}',
  ])
    expect(await mask(text)).toBe(text);
});

test('masking takes linear time, whatever prefix the text repeats', async () => {
  const repeated = [
    'glpat--',
    'ya29.a_',
    'eyJ',
    'eyJaaaaaaaaaa.',
    'hvs.',
    '1:AA',
    'A',
    'https://a.',
    '0/1',
    '%2Bya29.',
  ];
  for (const piece of repeated)
    await expectLinear(
      262_144,
      (size) => piece.repeat(Math.ceil(size / piece.length)),
      (text) => findSecrets(text),
    );
});
