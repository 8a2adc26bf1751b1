/** Generates `docs/settings.md`: every setting, where it may come from, and the environment variables. */
import { settings, type Setting } from '../../src/session/settings/settings.ts';
import { code, generated, renderTable, upperFirst } from './table.ts';

/** Settings that need more words than `teddy config` has room for; all others have the description from that command. */
const meanings: Record<string, string> = {
  provider: 'The [provider](models.md) that answers, such as `openai`, `anthropic` or `manual`.',
  model: "The model's name.",
  baseUrl: "The endpoint's URL.",
  temperature: 'A number that teddy sends with every request.',
  reasoning: '`low`, `medium` or `high`: how much the model reasons, if it can.',
  maxAnswerTokens: 'The most tokens that one answer may have. If the limit cuts an answer off, teddy continues it.',
  stream: '`true`: answers are streamed. `false`: they are requested in one piece.',
  recording: 'Where the provider `recorded` finds its answers.',
  agent: "The agent that plans a session's first turn: a built-in one, or one of your own.",
  contextTokens: 'The most tokens that a request may have.',
  maxTurns: 'The most turns that a session may have.',
  maxTokens: 'The most tokens, sent and received, that a session may use.',
  snapshot:
    '`tracked`: teddy commits your edits to tracked files before a turn. `all`: it also commits new files. `none`: it refuses until you have committed.',
  timeout: 'How many seconds a command may take if the plan sets no limit.',
  readThroughProxy: '`true`: `READ` fetches pages through a proxy, which may reach your internal network.',
  searchCommand: 'The shell command that `RESEARCH` runs for each query. The query is its last argument.',
  sign: '`true`: teddy signs entries and landings, as `git commit -S` does. It never signs imported entries.',
  assistedBy:
    '`true`: [landings name](review.md#disclosure) the models whose code they contain, as in `Assisted-by: teddy:gpt-5`. `false`: they do not. A trailer with `{tool}` and `{model}`, such as `Generated-by: {model}`: they name the models in this form.',
  approvals:
    '`0`: a plan needs no [approval](review.md#approving-plans). `1`: somebody has to approve it before it is executed, unless you are asked about each action. `others`: somebody other than the author of the message has to approve it.',
  agentsMayApprove: '`true`: programs that an AI agent started may approve plans. Set it with `--global`.',
  assistedByHook:
    '`true`: the [git hooks](sessions.md#git-hooks) name models in your own commits if it is certain that they contributed.',
  notes:
    '`git-ai`: a landing gets a note in `refs/notes/ai` that says [which lines models wrote](review.md#which-lines-models-wrote).',
  capture: "`true`: other agents' sessions in this repository are captured. `teddy capture install` sets this.",
  gate: 'How you review the plan of a waiting [agent](capture.md#the-gate). `page`: on a page. `terminal`: in a terminal. `off`: the agent does not wait.',
  sessionsRemote: 'The remote for sessions, if it is not the one for code.',
  redact: '`false`: teddy masks no secrets, and says so in a warning with every request.',
  'write.maxBytes': 'The most bytes that a written file may have.',
};

const fallbacks: Record<string, string> = {
  model: '`gpt-5` at OpenAI, otherwise none',
  baseUrl: "OpenAI's",
  maxAnswerTokens: "the model's limit; at most 32000 for `anthropic`",
  contextTokens: "the model's window minus its answer",
  sessionsRemote: 'as git decides',
};

const variables: [names: string[], meaning: string][] = [
  [['OPENAI_API_KEY'], 'The API key. teddy never stores it.'],
  [['OPENAI_BASE_URL'], "The endpoint's URL."],
  [['TEDDY_PROVIDER', 'TEDDY_MODEL', 'TEDDY_AGENT'], 'Take precedence over the settings of the same name.'],
  [['GIT_EDITOR', 'VISUAL', 'EDITOR'], 'The editor for `--edit`, chosen by the same rules as in git.'],
  [['GIT_PAGER', 'PAGER'], 'The pager for long output on a terminal.'],
  [['TEDDY_SERVER_TOKEN'], 'The token for `--server`, if the server serves another repository.'],
  [
    ['GITHUB_ACTIONS', 'GITHUB_STEP_SUMMARY'],
    'If GitHub has set these, `teddy replay` marks differences in the pull request and writes a summary.',
  ],
  [['NO_COLOR', 'FORCE_COLOR'], 'Never use colours, or always use them.'],
  [['TEDDY_DEBUG=1'], 'Shows every git command that teddy runs, with its time, on stderr.'],
];

const sources = `## Where a setting comes from

teddy takes each value from the first of these sources that sets it:

1. a flag, such as \`--model\`;
2. the environment;
3. \`git config teddy.<name>\`, for one repository, or, with \`--global\`, for all repositories;
4. \`.teddy/config.yaml\`, with plain \`name: value\` lines such as \`model: gpt-5\`.

git tracks \`.teddy/config.yaml\`, so anyone may have written it. It can set only the settings for which the table above lists it, and teddy
warns about anything else in it.

\`\`\`sh
teddy config                        # every value, and where it comes from
teddy config model                  # one value
git config teddy.model gpt-5        # set one
git config --unset teddy.model      # remove it again
\`\`\`

The setting \`teddy.validate.<pattern>.command\` adds your own check for [written files](large-files.md#checks).
`;

export function renderSettings(): string {
  return [
    `# Settings\n\n${generated}`,
    'To change a setting, run `git config teddy.<name> <value>`.\n',
    renderTable(['setting', 'meaning', 'default', 'also set by'], settings.map(toRow)),
    sources,
    '## Environment variables\n',
    renderTable(
      ['variable', 'meaning'],
      variables.map(([names, meaning]) => [names.map(code).join(', '), meaning]),
    ),
  ].join('\n');
}

function toRow(setting: Setting): string[] {
  const { name, variable, tracked, untracked = [], purpose, fallback } = setting;
  const also = [...(variable === undefined ? [] : [variable]), ...(tracked ? ['config.yaml'] : [])]
    .map(code)
    .join(', ');
  const except = [...untracked].map((value) => `, but not ${code(value)}`).join('');
  const shown = /^(?:none|not sent|no limit)$/.test(fallback) ? fallback : code(fallback);
  return [
    code(`teddy.${name}`),
    meanings[name] ?? `${upperFirst(purpose)}.`,
    fallbacks[name] ?? shown,
    `${also}${except}`,
  ];
}
