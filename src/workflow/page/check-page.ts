/** The verdicts of `verify` and `replay` on the commits that a page shows. No command is run. */
import { isDamage } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid } from '../../names.ts';
import type { PageChecks, PageSource } from '../../page/session-page.ts';
import type { RecordedLine } from '../line/find-recorded.ts';
import { maskString } from '../line/mask-text.ts';
import { replayLine } from '../replay/line.ts';
import { verifyLine } from '../verify/line.ts';
import type { WalkedLine } from './walk-lines.ts';

/** Nobody reads more of them; the last one then says how many there are. */
const maxFaults = 100;
const maxFaultLength = 500;

/** Commits that several lines share are looked at once. */
export async function checkPage(
  project: Project,
  { session }: PageSource,
  lines: readonly WalkedLine[],
): Promise<PageChecks> {
  const verify: PageChecks['verify'] = { entries: 0, turns: 0, isWhole: true, faults: [] };
  const replay: PageChecks['replay'] = { same: 0, different: 0, notCompared: 0, faults: [] };
  const known: Oid[] = [];
  for (const { name, tip, leaves } of lines) {
    const line: RecordedLine = { session, name, ref: null, tip, after: leaves?.commit ?? null };
    const verified = await verifyLine(project, { ...line, after: null }, { known });
    verify.entries += verified.entries;
    verify.turns += verified.turns;
    verify.isWhole &&= verified.isWhole;
    verify.faults.push(
      ...verified.violations.map(({ commit, turn, path, message }) =>
        describe(commit, [turn && `turn ${turn}`, path], message),
      ),
    );
    await replayInto(project, line, replay);
    known.push(tip);
  }
  return {
    verify: { ...verify, faults: await cutFaults(project, verify.faults) },
    replay: { ...replay, faults: await cutFaults(project, replay.faults) },
  };
}

async function replayInto(project: Project, line: RecordedLine, replay: PageChecks['replay']): Promise<void> {
  try {
    const { turns } = await replayLine(project, line);
    for (const { outcome, differences } of turns) {
      if (outcome === 'same') replay.same += 1;
      if (outcome === 'different') replay.different += 1;
      if (outcome === 'not_compared') replay.notCompared += 1;
      replay.faults.push(
        ...differences.map(({ commit, turn, path, message }) => describe(commit, [`turn ${turn}`, path], message)),
      );
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    replay.faults.push(error.message);
  }
}

function describe(commit: Oid, about: (string | null)[], message: string): string {
  return `${[commit.slice(0, 10), ...about.filter((word) => word !== null)].join(' ')}: ${message}`;
}

async function cutFaults({ masker }: Project, faults: readonly string[]): Promise<string[]> {
  const some = await Promise.all(faults.slice(0, maxFaults).map((fault) => maskString(masker, fault)));
  const more = faults.length - some.length;
  return [...some.map((fault) => fault.slice(0, maxFaultLength)), ...(more > 0 ? [`And ${more} more.`] : [])];
}
