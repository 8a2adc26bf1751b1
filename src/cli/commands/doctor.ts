import { hookSource, openAgentSetup } from '../../app.ts';
import { TeddyError } from '../../errors.ts';
import type { Examined, ReportedFinding } from '../../workflow/doctor/examine-repository.ts';
import { errorDocument, renderError } from '../render/error.ts';
import { isDebug } from '../context.ts';
import { option, TeddyCommand, type Terminal, usage } from '../teddy-command.ts';
import { toVisible } from '../../session/text/visible-text.ts';

export class DoctorCommand extends TeddyCommand {
  static override usage = usage({
    category: 'Look',
    description: 'Find what crashes and other clones left behind, and fix it.',
    details: `
      Checks locks, killed commands and runs, answers and files that were still arriving, branches that differ from
      their remotes, missing objects, entries that are no longer on any branch, work trees of ended sessions, git's
      configuration, git hooks, the capture of other agents' sessions, and the other parts that \`teddy init\` sets up.
      Nothing changes without --fix.

      A note reports where the hooks are. Each is \`installed\`; \`outdated\`: from another version, or not
      executable; \`edited\`: teddy's, but somebody has changed it, so teddy neither replaces nor removes it;
      \`called\`: called by somebody else's hook; \`foreign\`: the existing hook does not call teddy; or \`missing\`.

      With --fix, teddy fixes what it can prove to be its own; each finding explains how. If something belongs to
      somebody else, teddy names it and the command that you can run, and never removes it. Entries that are on no
      branch get one; nothing is rewritten.

      Exit codes: 0 nothing found, or everything fixed; 1 problems remain; 2 the check could not be carried out.
    `,
    examples: [
      ['Only look', '$0 doctor'],
      ['Fix what can be fixed', '$0 doctor --fix'],
      ['For a program', '$0 doctor --json'],
    ],
  });

  fix = option('--fix', { describe: 'Fix what can be fixed.' });

  protected override showsSilentAgents = true;
  protected override trustsHead = () => (this.fix ? undefined : 'always');

  protected async run(terminal: Terminal): Promise<number> {
    try {
      return await this.withProject(terminal, async (project) => {
        const [{ examineRepository }, { examineHooks }, { examineParts }, { listParts }] = await Promise.all([
          import('../../workflow/doctor/examine-repository.ts'),
          import('../../workflow/hooks/check.ts'),
          import('../../workflow/setup/set-up.ts'),
          import('./init.ts'),
        ]);
        const agents = await openAgentSetup(this.context.main, this.context.env);
        const findHooks = () => examineHooks(project, hookSource(this.context.main, this.context.env));
        const findSetup = async () => examineParts(await listParts(project, this.context));
        const findSilent = () => this.describeSilentAgents(project);
        const outside = { agents, findHooks, findSetup, findSilent };
        const examined = await examineRepository(project, { fix: this.fix, ...outside });
        if (this.json) this.printJson(terminal, 'doctor', toJson(examined, this.fix));
        else await this.page(terminal, project, renderExamined(terminal, examined, this.fix));
        for (const failure of examined.failures)
          renderError(terminal, failure, { json: false, debug: isDebug(terminal.context) });
        return toExitCode(examined);
      });
    } catch (error) {
      if (!(error instanceof TeddyError) || error.code === 'INTERRUPTED') throw error;
      renderError(terminal, error, { json: this.json, debug: isDebug(terminal.context) });
      return 2;
    }
  }
}

function toExitCode({ findings, failures }: Examined): number {
  if (failures.length > 0) return 2;
  return findings.every(({ outcome }) => outcome === 'fixed') ? 0 : 1;
}

function toJson({ findings, seen, notes, failures }: Examined, fix: boolean): object {
  return { fixed: fix, findings, lookedAt: seen, notes, couldNotLook: failures.map(errorDocument) };
}

function renderExamined(terminal: Terminal, examined: Examined, fix: boolean): string {
  const { findings, notes, seen } = examined;
  const parts = findings.map((finding) => renderFinding(terminal, finding));
  const told = notes.map((note) => `note: ${toVisible(note)}\n`).join('');
  return `${parts.join('\n')}${parts.length === 0 ? '' : '\n'}${told}Checked: ${seen.join(', ')}.\n${summarize(examined, fix)}\n`;
}

function renderFinding(terminal: Terminal, finding: ReportedFinding): string {
  const { kind, thing, meaning, fix, todo, outcome, said } = finding;
  const color = outcome === 'fixed' ? 'green' : 'yellow';
  const head = `${terminal.style(color, outcomeWords[outcome])}  ${kind}  ${toVisible(thing)}`;
  const rows = [
    meaning,
    ...(said === null ? [] : [said]),
    ...(outcome === 'left' && fix !== null ? [`--fix ${fix}.`] : []),
    ...(outcome === 'fixed' || todo === null ? [] : [todo]),
  ];
  return `${head}\n${rows.map((row) => `       ${toVisible(row)}\n`).join('')}`;
}

const outcomeWords: Record<ReportedFinding['outcome'], string> = { left: 'found', fixed: 'fixed', failed: 'failed' };

function summarize({ findings, failures }: Examined, fix: boolean): string {
  const fixed = findings.filter(({ outcome }) => outcome === 'fixed').length;
  const left = findings.length - fixed;
  const unseen = failures.length === 0 ? '' : ' Some checks could not be carried out.';
  if (findings.length === 0) return `Nothing to fix.${unseen}`;
  if (fix) return `${fixed} fixed, ${left} left.${unseen}`;
  const mendable = findings.filter((finding) => finding.fix !== null).length;
  const way =
    mendable === 0
      ? ''
      : ` \`teddy doctor --fix\` fixes ${mendable === left ? (left === 1 ? 'it' : 'them') : mendable}.`;
  return `${left} found.${way}${unseen}`;
}
