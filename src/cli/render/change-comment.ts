/** Renders a change as one Markdown comment. Recorded texts pass through `escape-markdown.ts`, so that they stay text. */
import type { Signature } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';
import { countOf, describeSpending } from '../../session/spending/describe-spending.ts';
import type { CheckedChange } from '../../workflow/ci/ci.ts';
import type { SignedReview } from '../../workflow/review/review.ts';
import { listApprovers } from '../../workflow/review/who.ts';
import { listMergeable, type Verdict } from './checked-change.ts';
import { escapeMarkdown, toCode } from './escape-markdown.ts';
import { describePlace } from './replay.ts';
import { nameTurns } from './review.ts';
import { cutTo, describeAnswerer, describePerson, renderTurnDetails } from './review-turn.ts';

export interface ChangeComment {
  range: { base: Oid; head: Oid };
  checked: CheckedChange;
  verdict: Verdict;
  sessions: readonly SignedReview[];
  /** The result of the run that checked the pull request; null when no event names it. */
  conclusion: string | null;
  pageUrl: string | undefined;
  /** Fingerprints of the keys that the project has named. */
  signedBy: ReadonlySet<string> | undefined;
}

/** GitHub accepts 65,536. */
const maxCharacters = 60_000;
// Together with their folds' first lines, these stay below 60 lines.
const maxSessions = 2;
const maxFindings = 8;
/** The number of a session's newest turns that the comment shows, each in a fold. */
const maxTurns = 6;
const maxCommands = 3;
const maxHints = 2;

/** Ends with a newline. */
export function renderChangeComment(comment: ChangeComment): string {
  const { checked, sessions, range, verdict } = comment;
  const shown = sessions.slice(0, maxSessions);
  const more = sessions.length - shown.length;
  const head = [
    '### Sessions in this change',
    '',
    `${verdict.ok ? '' : '**Not ready:** '}${escapeMarkdown(cutTo(verdict.text, 600))} Checked up to ${toCode(range.head.slice(0, 10))}.`,
    ...verdict.hints.slice(0, maxHints).map((hint) => `- Next: ${renderHint(cutTo(hint, 300))}`),
    ...[...listMergeable(checked)]
      .slice(0, maxSessions)
      .map(
        (name) =>
          `- Merging this would bring \`.teddy/\` along. Land it instead: ${toCode(`teddy land ${name} --pr`)}.`,
      ),
    ...renderSources(comment),
    '',
  ];
  const findings = renderFindings(checked, range);
  const heads = shown.map((session) => renderSession(session, comment));
  const rest = more === 0 ? [] : [`${countOf(more, 'more session')}: ${toCheck(range)}.`];
  let room = maxCharacters - [...head, ...findings, ...heads.flat(), ...rest].join('\n').length - maxNote;
  const parts = shown.map((session, at) => {
    const { folds, note } = renderFolds(session, comment, room / (shown.length - at));
    room -= folds.join('\n').length;
    return [...(heads[at] ?? []), ...note, '', ...folds, ''];
  });
  return `${[...head, ...findings, ...parts.flat(), ...rest].join('\n').trimEnd()}\n`;
}

/** Renders the commands in a hint as code. */
function renderHint(hint: string): string {
  return hint
    .split('`')
    .map((part, at) => (at % 2 === 0 ? part.replace(/[^ ](?:.*[^ ])?/s, escapeMarkdown) : toCode(part)))
    .join('');
}

/** Space for the notes on omitted turns, and for the comment's mark. */
const maxNote = 1_500;

function toCheck({ base, head }: ChangeComment['range']): string {
  return toCode(`teddy ci verify --base ${base.slice(0, 10)} --head ${head.slice(0, 10)}`);
}

/** Tells where the statements below come from: only the check itself was made here. */
function renderSources({ conclusion, pageUrl, checked }: ChangeComment): string[] {
  const ran = checked.replayed.some(({ result }) => result.ranCommands);
  return [
    `- Commands and their outcomes are as recorded in the session; ${ran ? 'the check ran them again' : 'nothing was run to check them'}.`,
    ...(conclusion === null
      ? []
      : [`- Reported by the pull request's own run: ${escapeMarkdown(cutTo(conclusion, 30))}.`]),
    ...(pageUrl === undefined
      ? []
      : [
          `- [Session page](<${toDestination(pageUrl)}>)${conclusion === null ? '' : ", from the pull request's own run"}`,
        ]),
  ];
}

function toDestination(url: string): string {
  return new URL(url).href.replace(/[<>\\\s]/g, encodeURIComponent);
}

/** Lists everything that speaks against the change or is not proven, then the landings that are what they claim. */
function renderFindings(
  { verified, replayed, failed, landings, squashes }: CheckedChange,
  range: ChangeComment['range'],
) {
  const lines = verified.flatMap(({ result }) => result.lines);
  const inChange = verified.flatMap(({ result }) => result.change?.violations ?? []);
  const told = (text: string) => escapeMarkdown(cutTo(text, 300));
  const short = (commit: Oid) => toCode(commit.slice(0, 10));
  const rows = [
    ...[...lines.flatMap(({ violations }) => violations), ...inChange].map(
      ({ commit, turn, message }) =>
        `Fault in ${short(commit)}${turn === null ? '' : `, turn ${turn}`}: ${told(message)}`,
    ),
    ...failed.map(({ result }) => `Not checked: ${told(result)}`),
    ...squashes.map(({ commit, session }) => `${short(commit)} has files of ${toCode(session)} without its commits.`),
    ...landings.flatMap(({ commit, faults, unproven }) => [
      ...faults.map(({ path, message }) => `Landing ${short(commit)}: ${told(`${path ?? 'as a whole'}: ${message}`)}`),
      ...unproven.map((clause) => `Landing ${short(commit)}, not proven: ${told(clause)}`),
    ]),
    ...replayed.flatMap(({ result: { turns } }) =>
      turns.flatMap(({ differences, unproven }) => [
        ...differences.map((one) => `Differs: ${told(`${describePlace(one)}: ${one.message}`)}`),
        ...unproven.map(({ turn, path, reason }) => `Not proven: turn ${turn}, ${told(`${path}: ${reason}`)}`),
      ]),
    ),
    ...landings
      .filter(({ faults, unproven }) => faults.length + unproven.length === 0)
      .map(({ commit, from }) => {
        const names = from.slice(0, 3).map(({ session }) => toCode(session));
        return `Landing ${short(commit)} is the code of ${names.join(', ')}, and nothing else.`;
      }),
  ];
  const shown = rows.slice(0, rows.length > maxFindings ? maxFindings - 1 : maxFindings);
  const more = rows.length - shown.length;
  return [
    ...shown.map((row) => `- ${row}`),
    ...(more === 0 ? [] : [`- ${countOf(more, 'more finding')}: ${toCheck(range)}.`]),
    ...(rows.length === 0 ? [] : ['']),
  ];
}

/** The session's facts, one per line; at most eight. */
function renderSession(review: SignedReview, { signedBy }: ChangeComment): string[] {
  const { session, newest, turns, tip, spent, models } = review;
  const some = newest.length === turns.length ? '' : `, of the newest ${countOf(newest.length, 'turn')}`;
  const asked = turns[0]?.title ?? '';
  const planned = newest.findLast(({ planTitle }) => planTitle !== null);
  const cost = describeSpending(spent);
  const answered = [...models.slice(0, 5).map(describeAnswerer), ...(cost === null ? [] : [escapeMarkdown(cost)])];
  const rows: [what: string, told: string][] = [
    ['Asked', escapeMarkdown(cutTo(asked, 200))],
    [
      'Plan',
      planned === undefined
        ? ''
        : `${escapeMarkdown(cutTo(planned.planTitle ?? '', 200))} (turn ${planned.turn}, ${countOf(planned.actions.length, 'action')})`,
    ],
    [`Approved${some}`, describeDeciders(review, 'approved', signedBy)],
    [`Run without a question (\`-y\`)${some}`, describeDeciders(review, 'byFlag', signedBy)],
    [`Rejected${some}`, describeDeciders(review, 'rejected', signedBy)],
    [`Commands, recorded in the session${some}`, describeCommands(review)],
    ['Models', answered.join('; ')],
  ];
  return [
    `#### ${toCode(session)}`,
    `${countOf(turns.length, 'turn')} up to ${toCode(tip.slice(0, 10))}`,
    ...rows.flatMap(([what, told]) => (told === '' ? [] : [`- ${what}: ${told}`])),
  ];
}

const maxPeople = 5;

/** Returns, for example, `Ada (unsigned) (turns 01, 02)`: a name that nobody has signed is only a claim. */
function describeDeciders(
  { newest, turns, signatures }: SignedReview,
  said: 'approved' | 'byFlag' | 'rejected',
  signedBy: ReadonlySet<string> | undefined,
): string {
  const all = turns.map(({ turn }) => turn);
  // The same name with and without a signature counts as two people.
  const asSigned = <Made extends { author: { name: string; email: string }; commit: Oid }>(one: Made): Made => ({
    ...one,
    author: { ...one.author, email: describeSignature(signatures.get(one.commit), signedBy) },
  });
  const decided = newest.map(({ turn, verdicts, decisions }) => {
    return { turn, verdicts: verdicts.map(asSigned), decisions: decisions.map(asSigned) };
  });
  const people = listApprovers(decided).filter((one) => one[said].length > 0);
  const told = people
    .slice(0, maxPeople)
    .map((one) => `${describePerson(one)}${one.email} (${nameTurns(one[said], all)})`);
  return [...told, ...(people.length > maxPeople ? [`and ${people.length - maxPeople} more`] : [])].join('; ');
}

/** Returns ` (unsigned)`, or what git says about the signature. */
function describeSignature(signature: Signature | undefined, signedBy: ReadonlySet<string> | undefined): string {
  if (signature === undefined) return ' (unsigned)';
  const { state, keys, signer } = signature;
  if (state === 'bad') return ' (bad signature)';
  const isNamed = keys.some((key) => signedBy?.has(key) === true);
  if (!isNamed && (signedBy !== undefined || state !== 'good')) return ' (signed with a key that is not known here)';
  return signer === '' ? ' (signed)' : ` (signed by ${escapeMarkdown(cutTo(signer, 100))})`;
}

function describeCommands({ newest }: SignedReview): string {
  const ran = newest
    .flatMap(({ actions }) => actions)
    .filter(({ type, status }) => type === 'EXECUTE' && status !== null && status !== 'SKIPPED');
  const told = ran.slice(-maxCommands).map(({ target, status, exitCode }) => {
    const exit = exitCode === null || exitCode === 0 ? '' : `, exit ${exitCode}`;
    return `${toCode(cutTo(target, 80))} ${status}${exit}`;
  });
  const more = ran.length - told.length;
  return [...(more === 0 ? [] : [`${more} earlier`]), ...told].join('; ');
}

/** Renders the newest turns that fit, one fold each. */
function renderFolds(
  { session, newest, turns, signatures }: SignedReview,
  { signedBy }: ChangeComment,
  room: number,
): { folds: string[]; note: string[] } {
  const folds: string[] = [];
  let used = 0;
  for (const turn of newest.slice(-maxTurns).toReversed()) {
    const fold = renderTurnDetails(turn, session, (commit) => describeSignature(signatures.get(commit), signedBy));
    used += fold.length + 1;
    if (used > room) break;
    folds.unshift(fold);
  }
  const more = turns.length - folds.length;
  const note = more === 0 ? [] : [`- ${countOf(more, 'turn')} left out: ${toCode(`teddy log ${session}`)} shows all.`];
  return { folds, note };
}
