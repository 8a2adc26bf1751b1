/** Renders the authors of lines, and the stories of turns, for the user and as JSON. */
import { toVisible } from '../../session/text/visible-text.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import type { AttributedRun, Author } from '../../workflow/blame/attribute-lines.ts';
import type { BlamedFile, CommitStory } from '../../workflow/blame/blame-file.ts';
import type { Approval, TurnStory } from '../../workflow/blame/read-story.ts';
import type { PlaceStory, Why } from '../../workflow/blame/why.ts';
import type { Terminal } from '../terminal.ts';
import { cutToWidth, wrap } from './cut-to-width.ts';
import { formatTime } from './time.ts';

type Stories = Pick<BlamedFile, 'turns' | 'commits'>;

/** The limits of `why`: a message's lines, and a file's stories. `blame` shows one line of a message. */
const [maxMessageLines, maxStories] = [12, 10];

/** The indentation of a title's second and later lines. */
const titleIndent = '    ';

export function renderBlame(terminal: Terminal, blamed: BlamedFile): string {
  const told = new Set<string>();
  const width = String(Math.max(0, ...blamed.runs.map(({ line, texts }) => line + texts.length - 1))).length;
  const rows = blamed.runs.flatMap((run) => {
    const [title = '', ...rest] = describeRun(blamed, run, told);
    const lines = run.texts.map((text, at) => `${String(run.line + at).padStart(width)}  ${toVisible(text)}`);
    return [
      ...wrap(title, terminal.columns - titleIndent.length).map(
        (row, at) => (at === 0 ? '' : titleIndent) + terminal.style(styleOf(run.author), row),
      ),
      ...rest.map((row) => terminal.style('dim', cutToWidth(row, terminal.columns))),
      ...lines,
    ];
  });
  return rows.map((row) => `${row}\n`).join('');
}

function styleOf({ kind }: Author): 'cyan' | 'green' | 'yellow' {
  if (kind === 'turn') return 'cyan';
  return kind === 'unknown' ? 'yellow' : 'green';
}

/** Describes a run of lines. Includes each turn's story only once. */
function describeRun(stories: Stories, { author, uncommitted, guess }: AttributedRun, told: Set<string>): string[] {
  const past = guess === undefined ? '' : `; before that, as git guesses: ${describeAuthor(guess, stories)}`;
  const title = `${describeAuthor(author, stories)}${uncommitted ? ', not committed yet' : ''}${past}`;
  const story = author.kind === 'turn' ? stories.turns.get(author.commit) : undefined;
  if (story === undefined || told.has(story.commit)) return [title];
  told.add(story.commit);
  const asked = story.asked === null ? [] : [`asked: ${firstLine(story.asked.text)}`];
  const plan = story.plan === null ? [] : [`plan: ${toVisible(story.plan.title)}`];
  return [title, ...[...asked, ...plan].map((row) => `  ${row}`)];
}

function firstLine(text: string): string {
  const [line = '', ...rest] = toVisible(text).trim().split('\n');
  return rest.length === 0 ? line : `${line} ...`;
}

/** Returns, for example, `turn 02 of 20261121-fix-ago, gpt-5, approved by Ada Lovelace`. */
function describeAuthor(author: Author, { turns, commits }: Stories): string {
  if (author.kind === 'uncommitted') return `not committed yet${author.isOwn ? ', your own edit' : ''}`;
  if (author.kind === 'unknown') return `unknown, in ${author.commit.slice(0, 10)}: ${toVisible(author.reason)}`;
  const content = `${author.byContent ? ', by content' : ''}${author.byNote === null ? '' : ', by note'}`;
  if (author.kind === 'turn') {
    const story = turns.get(author.commit);
    const model = story === undefined ? null : nameModel(story);
    const approved = story?.approvals.findLast(({ verdict }) => verdict === 'approved');
    const parts = [
      `turn ${author.turn} of ${author.session}`,
      ...(model === null ? [] : [model]),
      ...(approved === undefined ? [] : [describeApproval(approved)]),
    ];
    return toVisible(`${parts.join(', ')}${content}`);
  }
  const commit = commits.get(author.commit);
  return commit === undefined ? author.commit.slice(0, 10) : describeCommit(commit, content);
}

function describeCommit({ author, at, commit, subject, session, turn }: CommitStory, content = ''): string {
  const place = `${commit.slice(0, 10)}${at === '' ? '' : `, ${formatTime(at).slice(0, 10)}`}`;
  if (session === null) return toVisible(`${author.name}, ${place}${content}: ${subject}`);
  const during = turn === null ? `in ${session}` : `during turn ${turn} of ${session}`;
  return toVisible(`${author.name}, own edits ${during}, ${place}${content}`);
}

function nameModel({ model, provider, agent }: TurnStory): string | null {
  if (model === null) return agent;
  // An answer written by hand has no model.
  if (provider === 'manual' || model === 'manual') return 'an answer by hand';
  if (provider === 'recorded') return 'a recorded answer';
  return agent === null || provider === agent ? model : `${agent} (${model})`;
}

function describeApproval({ author, how, verdict }: Approval): string {
  if (verdict === 'none') return 'the gate ended without a verdict';
  const word = verdict === 'approved' ? 'approved' : 'rejected';
  return how === 'flag' ? `run by ${author.name} with -y` : `${word} by ${author.name}`;
}

export function renderWhy(terminal: Terminal, why: Why): string {
  const isWhole = why.ranges.length === 0;
  const stories = isWhole ? why.stories.slice(0, maxStories) : why.stories;
  const parts = stories.map((story) => renderStory(terminal, why, story, isWhole));
  const more = why.stories.length - stories.length;
  const path = toVisible(toShellWord(why.path));
  const rev = why.commit === null ? '' : ` --rev ${why.commit.slice(0, 10)}`;
  const rest = more > 0 ? [`And ${more} more. All lines: teddy blame ${path}${rev}`] : [];
  if (parts.length === 0) rest.push(`${path} is empty.`);
  const first = stories.find(({ shown }) => shown !== null)?.shown;
  if (first != null) rest.push(`Next: teddy show ${first.turn} -s ${toVisible(toShellWord(first.selector))}`);
  return `${[...parts, ...rest.map((row) => `${row}\n`)].join('\n')}`;
}

function renderStory(terminal: Terminal, why: Why, story: PlaceStory, isWhole: boolean): string {
  const { author, runs, replaced, landed } = story;
  const bold = (text: string) => terminal.style('bold', text);
  const title = bold(toVisible(`${why.path}:${nameLines(runs)}`));
  const texts = runs.flatMap(({ line, texts: lines }) =>
    lines.map((text, at) => `    ${line + at}  ${toVisible(text)}`),
  );
  const code = isWhole && texts.length > 3 ? [...texts.slice(0, 3), `    ... ${texts.length - 3} more lines`] : texts;
  const turn = author.kind === 'turn' ? why.turns.get(author.commit) : undefined;
  const rows: Row[] = [
    ...(turn === undefined ? [describeOther(author, why)] : describeTurn(turn)),
    ...toRows(
      'Found',
      runs[0]?.uncommitted
        ? 'in the work tree: not committed yet'
        : 'byContent' in author && author.byContent
          ? 'by content: the commit that added it here names no session'
          : null,
    ),
    ...toRows(
      'Guess',
      runs[0]?.guess
        ? `before that, ${describeAuthor(runs[0].guess, why)}, as git guesses past a commit in blame.ignoreRevsFile`
        : null,
    ),
    ...toRows(
      'Landed',
      landed &&
        `${landed.commit.slice(0, 10)}${landed.byNote ? ' (by note)' : ''}, by ${landed.author.name} on ${formatTime(landed.at)}: ${landed.subject}`,
    ),
  ];
  const shown = rows.map((row) => renderRow(row, terminal.columns));
  const before = replaced === null ? [] : renderReplaced(terminal, replaced);
  return [title, ...code, '', ...shown, ...before].map((line) => `${line}\n`).join('');
}

function nameLines(runs: readonly AttributedRun[]): string {
  const shown = runs
    .slice(0, 5)
    .map(({ line, texts: { length } }) => (length === 1 ? `${line}` : `${line}-${line + length - 1}`));
  return `${shown.join(',')}${runs.length > shown.length ? ',...' : ''}`;
}

const labelWidth = 10;

type Row = readonly [label: string, text: string];

function toRows(label: string, text: string | null): Row[] {
  return text === null ? [] : [[label, text]];
}

/** Without a label, the text is printed alone. */
function renderRow([label, text]: Row, columns: number): string {
  const indent = label === '' ? 0 : labelWidth;
  const [first = '', ...rest] = toVisible(text)
    .split('\n')
    .flatMap((line) => wrap(line, columns - indent));
  return [`${label.padEnd(indent)}${first}`, ...rest.map((line) => ' '.repeat(indent) + line)].join('\n').trimEnd();
}

function describeOther(author: Author, why: Why): Row {
  if (author.kind === 'uncommitted') return ['', `Not committed yet${author.isOwn ? ': your own edit' : ''}.`];
  if (author.kind === 'unknown') return ['', `Unknown, in commit ${author.commit.slice(0, 10)}: ${author.reason}`];
  return ['By', describeAuthor(author, why)];
}

function describeTurn(story: TurnStory): Row[] {
  const { session, turn, asked, plan, approvals, status, actions, commit } = story;
  return [
    ['Turn', `${turn} of ${session}, commit ${commit.slice(0, 10)}`],
    [
      'Asked',
      asked === null
        ? 'nothing in the repository says by whom'
        : `by ${asked.author?.name ?? 'somebody'} on ${formatTime(asked.at)}\n${cutMessage(asked.text)}`,
    ],
    ...toRows('Answer', nameModel(story)),
    ...toRows('Planned', plan && [plan.title, ...plan.actions].join('\n')),
    ...approvals.map(describeVerdict),
    ...toRows('Happened', status && [status, ...actions.map(describeAction)].join('\n')),
  ];
}

function describeVerdict({ author: { name }, how, verdict, at, text }: Approval): Row {
  const when = `on ${formatTime(at)}${text === null ? '' : `\n${text}`}`;
  if (verdict === 'none') return ['Gate', `ended without a verdict ${when}`];
  if (verdict === 'rejected') return ['Rejected', `by ${name} ${when}`];
  return ['Approved', how === 'flag' ? `by ${name} with -y ${when}` : `by ${name} ${when}`];
}

function describeAction({ index, type, status, description, isEdited }: TurnStory['actions'][number]): string {
  const what = description === null ? '' : `: ${description}`;
  return `${index} ${type} ${status}${isEdited ? ', changed by the user before it ran' : ''}${what}`;
}

function cutMessage(text: string): string {
  const lines = text.trim().split('\n');
  const more = lines.length - maxMessageLines;
  return more > 0 ? [...lines.slice(0, maxMessageLines), `[... ${more} more lines]`].join('\n') : lines.join('\n');
}

function renderReplaced(terminal: Terminal, { lines, isCut }: NonNullable<PlaceStory['replaced']>): string[] {
  const shown = lines.map((line) => terminal.style('red', `    - ${toVisible(line)}`));
  return ['Replaced', ...shown, ...(isCut ? ['    - ...'] : [])];
}
