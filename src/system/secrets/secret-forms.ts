/**
 * The tokens that providers mark with a prefix or another fixed part, unless the preset of `secret-rules.ts` already
 * covers them. The preset's newer versions cover some of these tokens, but need Node 22. `find-secret-forms.ts` finds
 * the tokens.
 */
/**
 * The kind, the token's beginnings, and an expression for the rest. The token includes its beginning, unless the
 * expression has a group: then only the group is the secret.
 */
export type SecretForm = [kind: string, starts: string, rest: string];

const uuid = '[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}';
const upperUuid = uuid.replaceAll('a-f', 'a-fA-F');
const hex = (length: number | string) => `[0-9a-f]{${length}}`;
const alnum = (length: number | string) => `[A-Za-z0-9]{${length}}`;
/** Characters of URL-safe base64. */
const word = (length: number | string) => String.raw`[\w-]{${length}}`;
const base64 = (length: number | string) => `[A-Za-z0-9+/]{${length}}={0,3}`;
/**
 * For a rest that may be long: when one run of its characters contains many beginnings, prevents the search from
 * following each one to the end of the run.
 */
const long = (start: string, rest: string) => `(?<![._-]${start})${rest}`;
/** For a beginning of only a few letters, which base64 contains by chance. */
const weak = (start: string, rest: string) => `(?<![+/=]${start})${rest}(?![+/=])`;
/** A header and claims in base64, and a signature; or five parts when the token is encrypted. */
const jwt = String.raw`[\w-]{10,4000}\.(?:eyJ[\w-]{8,16000}\.[\w-]{0,2000}|[\w-]{0,2000}\.[\w-]{10,200}\.[\w-]{10,16000}\.[\w-]{10,200})`;

export const forms: readonly SecretForm[] = [
  // Models
  ['openai key', 'sk-proj- sk-svcacct- sk-admin-', word('40,200')],
  ['anthropic key', 'sk-ant-', String.raw`[a-z]{2,12}\d\d-[\w-]{80,128}`],
  ['openrouter key', 'sk-or-v1-', hex(64)],
  ['langfuse key', 'sk-lf-', uuid],
  ['model key', 'sk-', hex(32)],
  ['perplexity key', 'pplx-', alnum('40,64')],
  ['groq key', 'gsk_', alnum(52)],
  ['xai key', 'xai-', alnum('70,90')],
  ['replicate token', 'r8_', alnum('37,40')],
  ['hugging face token', 'hf_', alnum('34,40')],
  ['hugging face token', 'api_org_', alnum(34)],
  ['cerebras key', 'csk-', '[a-z0-9]{48}'],
  ['together key', 'tgp_v1_', word('43,64')],
  ['nvidia key', 'nvapi-', word('60,70')],
  ['langsmith key', 'lsv2_pt_ lsv2_sk_', `${hex(32)}_${hex(10)}`],
  ['wandb key', 'wandb_v1_', word('60,90')],
  ['pinecone key', 'pcsk_', word('60,80')],
  ['elevenlabs key', 'sk_', hex(48)],
  ['tavily key', 'tvly-', `(?:dev-|prod-)?${alnum('24,40')}`],
  ['firecrawl key', 'fc-', hex(32)],
  ['jina key', 'jina_', word(60)],
  ['cursor key', 'key_', hex(64)],
  // Google
  ['google key', 'AIza', word(35)],
  ['google client secret', 'GOCSPX-', word(28)],
  ['google token', 'ya29.', long('ya29\\.', String.raw`[\w.-]{20,2048}`)],
  ['google refresh token', '1//0', word('40,200')],
  ['firebase key', 'AAAA', String.raw`[\w-]{7}:[\w-]{140}`],
  // Forges and builds
  [
    'gitlab token',
    'glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt-',
    String.raw`[\w-]{20,300}(?:\.[0-9a-z]{2,9}){0,2}`,
  ],
  ['gitlab token', 'GR1348941', word('20,50')],
  ['gitlab session', '_gitlab_session=', `(${hex(32)})`],
  ['github token', 'ghs_', long('ghs_', String.raw`\d{1,20}_[\w-]{1,1000}\.[\w-]{1,4000}\.[\w-]{1,1000}`)],
  ['bitbucket token', 'ATBB', alnum('24,40')],
  ['bitbucket token', 'ATCTT3', '[\\w=-]{150,300}'],
  ['atlassian token', 'ATATT3', '[\\w=-]{100,300}'],
  ['circleci token', 'CCIPAT_ CCIPRJ_', `${alnum('20,24')}_${hex(40)}`],
  ['buildkite token', 'bkua_ bkaj_ bkat_ bkpi_ bkct_', alnum('32,64')],
  ['sonar token', 'squ_ sqp_ sqa_', hex(40)],
  ['snyk token', 'snyk_uat. snyk_sat.', String.raw`[0-9a-f]{8}\.[\w.-]{40,400}`],
  ['sourcegraph token', 'sgp_', `(?:(?:${hex(16)}|local)_)?${hex(40)}`],
  ['sourcegraph token', 'slk_', hex(64)],
  ['harness key', 'pat. sat.', String.raw`[\w-]{22}\.[0-9a-zA-Z]{24}\.[0-9a-zA-Z]{20}`],
  ['octopus key', 'API-', '[A-Z0-9]{25,32}'],
  // Clouds
  ['aws bedrock key', 'ABSK', base64('100,270')],
  ['aws bedrock key', 'bedrock-api-key-', '[A-Za-z0-9+/=]{40,4000}'],
  ['aws access key', 'ABIA ACCA', '[A-Z2-7]{16}'],
  ['azure key', 'AccountKey= SharedAccessKey= accountkey= sharedaccesskey=', '([A-Za-z0-9+/]{42,90}={0,2})'],
  ['digitalocean token', 'dop_v1_ doo_v1_ dor_v1_', hex(64)],
  ['heroku key', 'HRKU-', `(?:${uuid}|${word('58,66')})`],
  ['netlify token', 'nfp_ nfc_ nfo_ nfb_ nfu_', alnum('36,40')],
  ['vercel token', 'vcp_ vci_ vca_ vcr_ vck_', alnum('20,60')],
  ['cloudflare token', 'cfk_ cfut_ cfat_', alnum('40,56')],
  ['cloudflare origin key', 'v1.0-', `${hex(24)}-${hex(146)}`],
  ['alibaba key', 'LTAI', weak('LTAI', alnum('12,24'))],
  ['tencent key', 'AKID', weak('AKID', alnum(32))],
  ['yandex key', 'AQVN', word('35,38')],
  ['yandex token', 't1.', String.raw`[\w-]{1,400}={0,2}\.[\w-]{86}={0,2}`],
  ['yandex token', 'y0_', word('39,120')],
  ['yandex key', 'YCA YCM', word('36,38')],
  ['fly token', 'fo1_', word(43)],
  ['fly token', 'fm1a_ fm1r_ fm2_', base64('100,2000')],
  ['scalingo token', 'tk-us-', word(48)],
  ['render key', 'rnd_', alnum('28,40')],
  ['supabase token', 'sbp_', hex('40,64')],
  ['supabase key', 'sb_secret_', word('22,64')],
  ['planetscale token', 'pscale_tkn_ pscale_oauth_ pscale_pw_', String.raw`[\w=.-]{32,64}`],
  ['neon key', 'napi_', '[a-z0-9]{64}'],
  ['aiven password', 'AVNS_', word('19,32')],
  ['databricks token', 'dapi', '[0-9a-fA-F]{32}(?:-\\d)?'],
  ['clickhouse key', '4b1d', weak('4b1d', alnum(38))],
  ['xata key', 'xau_', alnum('43,64')],
  ['openshift token', 'sha256~', word(43)],
  // Secret stores, networks
  ['vault token', 'hvs. hvb. hvr.', word('24,300')],
  ['pulumi token', 'pul-', hex(40)],
  ['doppler token', 'dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.', String.raw`(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}`],
  ['1password key', 'A3-', '[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}'],
  ['age key', 'AGE-SECRET-KEY-1', '[0-9A-Z]{58}'],
  ['infracost key', 'ico-', alnum(32)],
  ['prefect key', 'pnu_ pnb_', alnum(36)],
  ['tailscale key', 'tskey-', '[a-z]{2,20}-\\w{8,40}-\\w{16,60}'],
  ['defined networking key', 'dnkey-', '[\\w=-]{26}-[\\w=-]{52}'],
  [
    'authress key',
    'sc_ ext_ scauth_ authress_',
    String.raw`[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}`,
  ],
  // Registries
  ['pypi token', 'pypi-', long('pypi-', word('50,1000'))],
  ['rubygems key', 'rubygems_', hex(48)],
  ['crates token', 'cio', weak('cio', alnum('32,35'))],
  ['docker token', 'dckr_pat_ dckr_oat_', word('27,36')],
  ['artifactory key', 'AKCp', weak('AKCp', alnum('69,73'))],
  ['artifactory token', 'cmVmd', weak('cmVmd', alnum(59))],
  ['nuget key', 'oy2', weak('oy2', '[a-z0-9]{43}')],
  ['clojars token', 'CLOJARS_', '[a-z0-9]{60}'],
  ['deno token', 'ddp_ ddo_', alnum(36)],
  // Monitoring
  ['grafana token', 'glc_', base64('32,400')],
  ['grafana token', 'glsa_', '[A-Za-z0-9]{32}_[0-9a-fA-F]{8}'],
  ['grafana key', 'eyJrIjoi', base64('40,400')],
  ['sentry token', 'sntrys_', '[A-Za-z0-9+/=_]{80,600}'],
  ['sentry token', 'sntryu_ sntrya_', hex(64)],
  ['new relic key', 'NRAK- NRII- NRIQ- NRAA- NRBR- NRRA- NRSP-', word('27,42')],
  ['new relic key', 'NRJS-', hex(19)],
  [
    'dynatrace token',
    'dt0c01. dt0s01. dt0s02. dt0s03. dt0s04. dt0s06. dt0s08. dt0s16.',
    String.raw`[A-Za-z0-9]{8,24}\.[A-Za-z0-9]{64}`,
  ],
  ['honeycomb key', 'hcaik_ hcamk_ hcalk_ hcxik_ hcxmk_ hcxlk_', '[a-z0-9]{58,64}'],
  ['posthog key', 'phx_', alnum('43,50')],
  ['axiom token', 'xaat- xapt-', uuid],
  ['launchdarkly key', 'api- sdk-', uuid],
  ['statsig key', 'secret-', alnum('40,48')],
  ['rootly key', 'rootly_', hex(64)],
  // Payments
  ['stripe key', 'sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_', alnum('16,250')],
  ['stripe webhook secret', 'whsec_', base64('24,80')],
  ['square token', 'sq0atp- sq0csp-', word('22,60')],
  ['square token', 'EAAA', weak('EAAA', word('58,62'))],
  ['facebook token', 'EAA', weak('EAA', alnum('80,400'))],
  ['instagram token', 'IGQ IGAA', weak('(?:IGQ|IGAA)', word('100,300'))],
  ['paypal token', 'access_token$production$ access_token$sandbox$', '[a-z0-9]{16}\\$[0-9a-f]{32}'],
  ['shippo token', 'shippo_live_ shippo_test_', '[0-9a-fA-F]{40}'],
  ['easypost key', 'EZAK EZTK', alnum(54)],
  ['flutterwave key', 'FLWSECK_TEST- FLWSECK-', '[0-9a-zA-Z]{12,40}(?:-X)?'],
  ['flutterwave key', 'FLWPUBK_TEST- FLWPUBK-', '[0-9a-zA-Z]{32}-X'],
  ['razorpay key', 'rzp_live_ rzp_test_', alnum('14,24')],
  ['lob key', 'live_ test_', `(?:${hex(35)}|pub_${hex(31)})`],
  ['gocardless token', 'live_ sandbox_', '[\\w=-]{40}'],
  ['mollie key', 'live_', alnum(30)],
  ['plaid token', 'access-sandbox- access-development- access-production-', uuid],
  ['duffel token', 'duffel_test_ duffel_live_', '[\\w=-]{43}'],
  ['paddle key', 'pdl_live_apikey_ pdl_sdbx_apikey_', '[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}'],
  ['polar token', 'polar_oat_ polar_pat_', word('40,60')],
  // Messaging
  ['slack token', 'xoxe. xoxe- xoxs- xoxc-', '[\\w.-]{20,400}'],
  ['slack token', 'xoxd-', '[\\w%+/=-]{20,400}'],
  ['slack webhook', 'https://hooks.slack.com/workflows/ https://hooks.slack.com/triggers/', '[A-Za-z0-9+/]{30,100}'],
  [
    'discord webhook',
    'https://discord.com/api/ https://discordapp.com/api/ https://ptb.discord.com/api/ https://canary.discord.com/api/',
    String.raw`(?:v\d+/)?webhooks/\d{17,20}/[\w-]{60,80}`,
  ],
  // A bot's number in base64, a timestamp, and a signature.
  ['discord token', 'MT MD Mj Mz ND NT Nj Nz OD OT', String.raw`[\w-]{21,26}\.[\w-]{6}\.[\w-]{27,40}`],
  ['twilio key', 'SK', '[0-9a-f]{32}'],
  ['mailgun key', 'key- pubkey-', hex(32)],
  ['brevo key', 'xkeysib- xsmtpsib-', `${hex(64)}-${alnum(16)}`],
  ['resend key', 're_', `${alnum(8)}_${alnum('20,28')}`],
  ['intercom token', 'dG9rO', '[A-Za-z0-9+/=_-]{50,80}'],
  ['hubspot token', 'pat-na1- pat-na2- pat-eu1- pat-ap1-', upperUuid],
  ['onesignal key', 'os_v2_app_ os_v2_org_', '[a-z2-7]{90,130}'],
  ['twitch token', 'oauth:', '[a-z0-9]{30}'],
  ['twitter token', 'AAAAAAAAAAAAAAAAAAAAA', '(?=[A-Za-z0-9]{0,100}%[0-9A-F]{2})[A-Za-z0-9%]{60,120}'],
  // Office tools
  ['linear token', 'lin_oauth_', hex(64)],
  ['notion token', 'ntn_', alnum('43,50')],
  ['notion token', 'secret_', alnum('43,50')],
  ['airtable token', 'pat', String.raw`[A-Za-z0-9]{14}\.[0-9a-f]{64}`],
  ['postman key', 'PMAK-', '[0-9a-fA-F]{24}-[0-9a-fA-F]{34}'],
  ['postman key', 'PMAT-', alnum('26,40')],
  ['figma token', 'figd_ figo_ figu_ figoh_ figor_', word('40,200')],
  ['frameio token', 'fio-u-', '[\\w=-]{64}'],
  ['readme key', 'rdme_', '[a-z0-9]{70}'],
  ['typeform token', 'tfp_', String.raw`[\w.=-]{44,80}`],
  ['asana token', '0/ 1/ 2/', String.raw`\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}`],
  ['trello token', 'ATTA', hex(64)],
  ['clickup token', 'pk_', String.raw`\d{5,12}_[A-Z0-9]{32}`],
  ['contentful token', 'CFPAT-', word(43)],
  ['mapbox token', 'sk.eyJ pk.eyJ tk.eyJ', String.raw`[\w-]{40,200}\.[\w-]{20,24}`],
  ['adobe secret', 'p8e-', '[\\w-]{28,32}'],
  ['dropbox token', 'sl.', long('sl\\.', String.raw`(?:u\.)?[\w=-]{120,1500}`)],
  ['adafruit key', 'aio_', '[A-Za-z]{4}\\d{2}[A-Za-z0-9]{22}'],
  ['wakatime key', 'waka_', uuid],
  ['lichess token', 'lip_ lio_', alnum('16,24')],
  ['zuplo key', 'zpka_', '[0-9a-z]{32}_[0-9a-f]{8}'],
  ['settlemint token', 'sm_aat_ sm_pat_ sm_sat_', alnum(16)],
  ['intra42 secret', 's-s4t2ud- s-s4t2af-', hex(64)],
  ['trigger key', 'tr_dev_ tr_prod_ tr_pat_', alnum('20,48')],
  ['inngest key', 'signkey-prod- signkey-test- signkey-branch-', hex('32,64')],
  ['jwt', 'eyJ', long('eyJ', jwt)],
  // RFC 8959 lets any token begin like this.
  ['secret token', 'secret-token:', '[\\w.~%+=:@/-]{16,400}'],
];

/** The ways in which a text escapes characters, and the end of a color code, whose last letter may directly precede a token. */
export const escaped = String.raw`\\[nrtbfv]|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\[[\d;]{0,9}m`;

/** A token does not begin inside a word of these characters. */
const edge = (characters = 'A-Za-z0-9') => `(?:(?<![${characters}])|(?<=${escaped}))`;

/** Tokens with a mark inside, and the text that must precede and follow the mark. */
export const marked: readonly [kind: string, mark: string, before: string, behind: string][] = [
  ['telegram token', ':AA', String.raw`(?:bot|${edge('\\w.:%-')})\d{7,12}`, word(33)],
  ['azure client secret', 'Q~', String.raw`${edge('\\w.~-')}[\w~.]{3}\d`, '[\\w~.-]{31,34}'],
  ['azure key', 'JQQJ99', `${edge()}${alnum(52)}`, alnum(26)],
  ['azure devops token', 'AZDO', `${edge()}${alnum(76)}`, alnum(4)],
  ['terraform token', '.atlasv1.', `${edge()}${alnum(14)}`, '[\\w=-]{60,70}'],
  ['mailchimp key', '-us', `${edge()}${hex(32)}`, '\\d{1,2}'],
  ['maxmind key', '_mmk', `${edge()}${alnum(6)}_${alnum(29)}`, ''],
  ['new relic key', 'NRAL', `${edge()}${hex(36)}`, ''],
  ['rapidapi key', 'jsn', `${edge()}[0-9a-z]{10}msh[0-9a-z]{15}p1[0-9a-z]{6}`, '[0-9a-z]{12}'],
  [
    'teams webhook',
    '.office.com/webhook',
    String.raw`https://[a-z0-9-]{1,60}(?:\.webhook)?`,
    '(?:b2)?/[\\w@/-]{60,260}',
  ],
  [
    'teams webhook',
    '.logic.azure.com',
    String.raw`https://[\w.-]{1,70}`,
    String.raw`(?::443)?/workflows/[\w/?&=.%-]{20,400}[?&]sig=[\w%-]{20,90}`,
  ],
  ['dropbox token', 'AAAAAAAAAA', `${edge('\\w+/=-')}${alnum(11)}`, String.raw`[\w-]{43}(?![\w+/=-])`],
];
