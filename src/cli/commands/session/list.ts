import { Command, Option } from 'clipanion';
import type { Project } from '../../../ports/project.ts';
import {
  findWorkTreesOf,
  type ListedSession,
  listNewest,
  sortNewest,
  type SessionWorkTree,
} from '../../../workflow/review/list-sessions.ts';
import { parseLimit } from '../../arguments.ts';
import { requireOne } from '../../plan-options.ts';
import { TeddyCommand } from '../../teddy-command.ts';
import type { Terminal, Style } from '../../terminal.ts';
import type { SessionId } from '../../../names.ts';
import { countOf } from '../../../session/describe-spending.ts';
import { toVisible } from '../../../session/visible-text.ts';
import { cutToWidth, padTo, widthOf } from '../../render/cut-to-width.ts';
import { describeAge } from '../../render/time.ts';

export class SessionListCommand extends TeddyCommand {
  static override paths = [['session', 'list']];
  static override usage = Command.Usage({
    category: 'Look',
    description: 'List all sessions, newest first.',
    details: `
      Each is listed with the number of its turns, the age of its last step, its state, and the title of that step; the newest step
      comes first. A terminal shows 50 sessions. A star marks the session that HEAD is on, which is always on the first page.

      A session has a plan that is pending, or it is open, closed, landed, committed (somebody has committed what another
      agent did in it), archived, or only on a remote; failed, aborted and skipped say how its last run ended.
      \`git switch teddy/<session>\` makes a branch of one that is on a remote here; if several remotes have it,
      \`git switch --track <remote>/teddy/<session>\` does.

      With \`--all\`, each session says in which other work trees its branches are checked out; \`git worktree list\` lists all of these.
    `,
    examples: [
      ['All sessions', '$0 session list'],
      ['My own that have not landed', '$0 session list --mine --open'],
      ['Archived ones as well', '$0 session list --archived'],
    ],
  });

  archived = Option.Boolean('--archived', false, { description: 'Also list sessions whose branches were archived.' });
  limit = Option.String('--limit', { description: 'List so many at most; on a terminal, 50 without it.' });
  all = Option.Boolean('--all', false, { description: 'List all of them on a terminal, too.' });
  mine = Option.Boolean('--mine', false, { description: 'List those that you started, by the e-mail address in git.' });
  open = Option.Boolean('--open', false, { description: 'List those with a branch here that have not landed.' });

  protected override trustsHead = () => 'always' as const;

  protected run(terminal: Terminal): Promise<number> {
    requireOne({ '--limit': this.limit !== undefined, '--all': this.all });
    const limit = this.readLimit(terminal);
    return this.withProject(terminal, async (project) => {
      const now = project.clock.now();
      const options = { archived: this.archived, mine: this.mine };
      const newest = await listNewest(project, this.open ? Number.POSITIVE_INFINITY : limit, options);
      const found = sortNewest(this.open ? newest.sessions.filter(isOpen) : newest.sessions, now);
      const count = this.open ? found.length : newest.count;
      const sessions = takeFirst(found, limit);
      const workTrees = this.all || this.json ? await findWorkTreesOf(project, sessions) : undefined;
      if (this.json)
        this.printJson(terminal, 'session-list', {
          sessions: sessions.map((one) => ({ ...one, workTrees: workTrees?.get(one.session) ?? [] })),
        });
      else if (found.length === 0)
        terminal.say(this.mine || this.open ? 'There is no such session.' : await describeNone(project));
      else {
        await this.page(terminal, project, renderSessions(terminal, sessions, now.getTime(), workTrees));
        if (sessions.length < count)
          terminal.say(`${sessions.length} of ${count} sessions. All of them: ${this.toWholeCommand()}`);
      }
      await this.sweepBeside(project);
      return 0;
    });
  }

  private toWholeCommand(): string {
    const given = { '--archived': this.archived, '--mine': this.mine, '--open': this.open };
    const kept = Object.entries(given).flatMap(([option, isGiven]) => (isGiven ? [option] : []));
    return ['teddy session list --all', ...kept].join(' ');
  }

  private readLimit(terminal: Terminal): number {
    if (this.limit === undefined)
      return terminal.isOutputTty && !this.all && !this.json ? onTerminal : Number.POSITIVE_INFINITY;
    return parseLimit(this.limit, 'sessions');
  }
}

const onTerminal = 50;

function isOpen({ state }: ListedSession): boolean {
  return ['pending', 'open', 'closed', 'failed'].includes(state);
}

async function describeNone(project: Project): Promise<string> {
  const { listRecorded } = await import('../../../workflow/line/find-recorded.ts');
  const { size } = new Set((await listRecorded(project)).map(({ session }) => session));
  const start = 'Start one: teddy session new <name>';
  if (size === 0) return `There is no session yet. ${start}`;
  const archived = size === 1 ? '1 session is archived' : `${size} sessions are archived`;
  return `No session is in progress here. ${archived}: teddy session list --archived. ${start}`;
}

/** A terminal of the usual size has room for so many. */
const firstPage = 20;

export function takeFirst(sessions: ListedSession[], limit: number): ListedSession[] {
  const at = sessions.findIndex(({ current }) => current);
  const current = sessions[at];
  if (limit === Number.POSITIVE_INFINITY || current === undefined || at < Math.min(limit, firstPage))
    return sessions.slice(0, limit);
  return [current, ...sessions.filter((one) => one !== current)].slice(0, limit);
}

const stateStyles: Partial<Record<string, Style>> = {
  pending: 'yellow',
  failed: 'red',
  aborted: 'yellow',
  skipped: 'yellow',
  landed: 'dim',
  committed: 'dim',
};
/** A few long names must not push the other rows out of the terminal; of 80 columns they leave some for the titles. */
const widestName = (columns: number) => Math.min(36, Math.floor(columns * 0.35));

/** `workTrees` says where sessions are checked out beside this work tree; it is left out when that is not to be shown. */
export function renderSessions(
  terminal: Terminal,
  sessions: ListedSession[],
  nowMs: number,
  workTrees?: ReadonlyMap<SessionId, SessionWorkTree[]>,
): string {
  const rows = sessions.map((one) => ({
    one,
    cells: [one.session, countOf(one.turns, 'turn'), describeAge(one.updated, nowMs), toState(one)],
  }));
  const widths = [0, 1, 2, 3].map((at) =>
    rows.reduce((most, { cells }) => Math.max(most, widthOf(cells[at] ?? '')), 0),
  );
  return rows
    .map(({ one, cells: [session = '', turns = '', age = '', state = ''] }) => {
      const widest = Math.min(widths[0] ?? 0, widestName(terminal.columns));
      const shown = toVisible(session);
      // A program reads whole names.
      const name = padTo(Number.isFinite(terminal.columns) ? cutToWidth(shown, widest) : shown, widest);
      const shownTurns = turns.padEnd(widths[1] ?? 0);
      const shownAge = age.padEnd(widths[2] ?? 0);
      const shownState = state.padEnd(widths[3] ?? 0);
      const used = 2 + widthOf(name) + 2 + shownTurns.length + 2 + shownAge.length + 2 + shownState.length + 2;
      const room = Math.max(terminal.columns - used, 10);
      const [full, short] = [describeAgent(one), describeAgent({ ...one, model: null })].map(
        (agent) => `${agent}${describeBranches(one)}`,
      ) as [string, string];
      const branches = widthOf(toVisible(one.title)) + widthOf(full) > room ? short : full;
      const title = cutToWidth(toVisible(one.title), Math.max(room - widthOf(branches), 10));
      const text = cutToWidth(`${title}${branches}`, room);
      // A path that is cut leads nowhere: the terminal may break it.
      const places = (workTrees?.get(one.session) ?? []).map((tree) => describeWorkTree(tree, one));
      const place = places.length === 0 ? '' : `  ${places.join(', ')}`;
      const style = stateStyles[one.awaitsVerdict ? 'pending' : nameEnd(one)];
      return `${one.current ? '*' : ' '} ${one.current ? terminal.style('green', name) : name}  ${shownTurns}  ${shownAge}  ${style === undefined ? shownState : terminal.style(style, shownState)}  ${text}${place}`.trimEnd();
    })
    .map((row) => `${row}\n`)
    .join('');
}

/** Names the branch where it is another than that of the row. */
function describeWorkTree({ path, branch }: SessionWorkTree, one: ListedSession): string {
  return `in ${toVisible(path)}${branch === one.line ? '' : ` (${toVisible(branch)})`}`;
}

function toState({ state, last, archived, remotes, awaitsVerdict, committed }: ListedSession): string {
  if (state === 'pending') return 'pending plan';
  if (committed !== null) return `committed as ${committed.slice(0, 7)}`;
  if (state === 'open' && awaitsVerdict) return 'plan to judge';
  return archived || remotes.length === 0 ? nameEnd({ state, last }) : `only on ${remotes.join(', ')}`;
}

/** In the words of the report and of `teddy status`: a plan that somebody has refused has not failed. */
function nameEnd({ state, last }: Pick<ListedSession, 'state' | 'last'>): string {
  const end = state === 'failed' ? /^report: (ABORTED|SKIPPED) /.exec(last)?.[1] : undefined;
  return end?.toLowerCase() ?? state;
}

function describeAgent({ agent, model }: ListedSession): string {
  return agent === null ? '' : ` [${toVisible(model === null ? agent : `${agent}, ${model}`)}]`;
}

/** The main line has another name, HEAD is on another line, or there are conversation branches: one that waits is named. */
function describeBranches({
  session,
  line: branch,
  conversationBranches,
  archived,
  remote,
  beside,
}: ListedSession): string {
  const isOther = !archived && remote === null && branch !== `teddy/${session}`;
  const count = conversationBranches.length;
  const branches =
    beside === null ? `+${count} ${count === 1 ? 'branch' : 'branches'}` : `${beside.has} on ${toVisible(beside.line)}`;
  return `${isOther ? ` on ${toVisible(branch)}` : ''}${count === 0 ? '' : ` (${branches})`}`;
}
