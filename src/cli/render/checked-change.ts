/** Renders the check of a change: each part with the command that repeats it, then the missing parts. */
import { countOf } from '../../session/spending/describe-spending.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import type { CheckedChange, CheckedLanding } from '../../workflow/ci/ci.ts';
import { isSame, isUnproven } from '../../workflow/replay/replayed.ts';
import type { Terminal } from '../terminal.ts';
import { describeProof, renderReplay } from './replay.ts';
import { renderVerified } from './verified.ts';

export interface Strictness {
  /** True to fail on parts that are not proven. */
  isStrict: boolean;
  /** True to fail on commits that no session explains, and on landings whose session cannot be fetched. */
  needsSession: boolean;
  /** True when the user requires approvals, signatures or kept promises. */
  hasPolicy: boolean;
}

export interface Verdict {
  ok: boolean;
  /** A single line. */
  text: string;
  /** The next steps, one per line. */
  hints: string[];
}

/** Reports what is missing, beginning with the most serious problem. */
export function judge(checked: CheckedChange, { isStrict, needsSession, hasPolicy }: Strictness): Verdict {
  const unseen = checked.landings.filter(({ isUnseen }) => isUnseen).length;
  const faults = [
    ...listFaults(checked),
    ...(unseen > 0 && (hasPolicy || needsSession)
      ? [`${countOf(unseen, 'landing')} could not be checked against the requirements.`]
      : []),
  ];
  const unrecorded = countOf(checked.unrecorded, 'commit');
  const rest = checked.unrecorded === 0 ? '' : ` ${unrecorded} without a session: not checked.`;
  if (faults.length > 0) return { ok: false, text: faults.join(' ') + rest, hints: listWaysOut(checked) };
  const isOpen = checked.replayed.some(({ result }) => isUnproven(result));
  const isLandingOpen = checked.landings.some(({ unproven }) => unproven.length > 0);
  const isNothing = checked.verified.length === 0 && checked.landings.length === 0;
  const lacks = needsSession && (checked.unrecorded > 0 || (isNothing && checked.range === null));
  if ((isOpen || isLandingOpen) && isStrict) {
    const hints = isOpen ? [...listWaysOut(checked), toRunCommands] : listWaysOut(checked);
    return { ok: false, text: `Nothing differs, but not everything is proven.${rest}`, hints };
  }
  if (lacks) {
    const missing = checked.unrecorded === 0 ? 'There is no session here' : `${unrecorded} without a session`;
    return { ok: false, text: `${missing}, but --require-session requires one.`, hints: [] };
  }
  if (isOpen || isLandingOpen)
    return { ok: true, text: `Nothing differs. --no-strict let the unproven parts pass.${rest}`, hints: [] };
  if (!isNothing) return { ok: true, text: `All sessions hold up.${rest}`, hints: [] };
  const place = checked.range === null ? 'here' : 'in this change';
  return { ok: true, text: `There is no teddy session ${place}.${rest}`, hints: [] };
}

const toRunCommands =
  '`--run-commands` runs the commands again, where that is allowed; `--no-strict` lets such files pass.';

function listFaults({ verified, replayed, failed, landings, squashes }: CheckedChange): string[] {
  const violations = verified.flatMap(({ result }) => result.lines.flatMap((line) => line.violations));
  const count = (wanted: string) => violations.filter(({ rule }) => rule === wanted).length;
  const [approvals, signatures, promises] = [count('approval'), count('signature'), count('promise')];
  const isWrong =
    violations.length > approvals + signatures + promises ||
    failed.length > 0 ||
    verified.some(({ result: { lines, change } }) => {
      const isCut = lines.some(({ isWhole }) => !isWhole);
      return isCut || (change?.violations ?? []).length > 0;
    }) ||
    replayed.some(({ result }) => !isSame(result));
  const strange = landings.filter(({ faults }) => faults.length > 0).length;
  return [
    ...(isWrong ? ['A session does not hold up.'] : []),
    ...(squashes.length > 0 ? ['Session files came without the commits that made them.'] : []),
    ...(strange > 0 ? [`${countOf(strange, 'landing is', 'landings are')} not what the session produces.`] : []),
    ...(approvals > 0 ? [`${countOf(approvals, 'approval is', 'approvals are')} missing.`] : []),
    ...(promises > 0 ? [`What plans promised was not kept in ${countOf(promises, 'place')}.`] : []),
    ...(signatures > 0
      ? [`${countOf(signatures, 'signature is', 'signatures are')} missing or not by a named key.`]
      : []),
  ];
}

function listWaysOut({ verified, squashes, landings, approval }: CheckedChange): string[] {
  const lacking = verified
    .flatMap(({ result }) => result.lines)
    .flatMap(({ session, violations }) =>
      violations.flatMap(({ rule, turn }) => (rule === 'approval' ? [{ session, turn }] : [])),
    );
  const who = approval?.needed === 'others' ? 'Somebody who did not write the message: ' : '';
  const approvals = lacking.map(({ session, turn }) => `${who}\`teddy approve ${turn} -s ${session}\`.`);
  const pushes = lacking.map(({ session }) => `Then \`teddy push -s ${session}\`.`);
  const ways = squashes.map(
    ({ commit, session }) =>
      `Remove ${commit.slice(0, 10)}, and land the code without \`.teddy/\`: \`teddy land ${session}\`.`,
  );
  const isByHand = landings.some(({ unproven, isUnseen }) => unproven.length > 0 && !isUnseen);
  const byHand = 'Nothing proves what a person merged: review these files, and let them pass with `--no-strict`.';
  return [...new Set([...ways, ...approvals.slice(0, 5), ...pushes.slice(0, 5), ...(isByHand ? [byHand] : [])])];
}

const afterMerge = 'after such a merge, `teddy ci carry` keeps the session, and notes which commit came from it.';

export function renderChecked(checked: CheckedChange, verdict: Verdict, terminal: Terminal): string {
  const { verified, replayed, failed, landings, squashes, approval } = checked;
  const mergeable = [...listMergeable(checked)];
  const asked = { anybody: 'an approval', others: 'approval by somebody else' };
  const proofs = replayed.map(({ result }) => `${result.line}: ${describeProof(result).replace(/^proof: /, '')}\n`);
  return [
    ...(approval?.isFromBase === true
      ? [`.teddy/config.yaml on the base branch requires ${asked[approval.needed]} for every plan that was run.\n`]
      : []),
    ...verified.map(({ command, result }) => `$ teddy ${command}\n${renderVerified(terminal, result)}`),
    ...replayed.map(({ command, result }) => `$ teddy ${command}\n${renderReplay(result, terminal)}`),
    ...failed.map(({ command, result }) => `$ teddy ${command}\n${toVisible(result)}\n`),
    ...landings.map((landing) => renderLanding(landing, terminal)),
    ...mergeable.map(
      (session) =>
        `note: merging this would bring .teddy/ into the base branch. Land it instead: \`teddy land ${session} --pr\`.\n`,
    ),
    ...squashes.map(
      ({ commit, session }) =>
        `${commit.slice(0, 10)} contains files of ${session} without the commits that made them, as a squash does:\n  .teddy/sessions/${session}\n`,
    ),
    ...(squashes.length + mergeable.length === 0 ? [] : [`note: ${afterMerge}\n`]),
    toVisible(proofs.join('')),
    ...verdict.hints.map((hint) => `hint:  ${toVisible(hint)}\n`),
    `${toVisible(verdict.text)}\n`,
  ].join('');
}

/** Returns the sessions whose entries the change itself contains. */
export function listMergeable({ verified }: CheckedChange): Set<string> {
  const brought = verified.filter(({ result }) => result.change !== undefined);
  return new Set(brought.flatMap(({ result }) => result.lines.map(({ session }) => session)));
}

function renderLanding({ commit, from, faults, unproven }: CheckedLanding, terminal: Terminal): string {
  const verdict =
    faults.length > 0
      ? terminal.style('red', countOf(faults.length, 'fault'))
      : unproven.length > 0
        ? terminal.style('yellow', 'not proven')
        : terminal.style('green', "its session's code, and nothing else");
  const rows = [
    ...faults.map(({ path, message }) => (path === null ? message : `${path}: ${message}`)),
    ...unproven.map((clause) => `not proven: ${clause}`),
  ];
  const whose = from.map(({ session, tip }) => `${session} as of ${tip.slice(0, 10)}`).join(', ');
  return [
    `landing ${commit.slice(0, 10)} of ${whose}: ${verdict}\n`,
    ...rows.map((row) => `  ${toVisible(row).replaceAll(/\s*\n\s*/g, ' ')}\n`),
  ].join('');
}
