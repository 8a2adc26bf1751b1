/** The tools for plans and memos. A plan that an agent submits waits for the user; no tool decides for the user. */
import * as z from 'zod';
import { answerByHand } from '../app.ts';
import { isSessionId, mainLineRef, shortRef, type Oid, type RefName } from '../names.ts';
import type { Project } from '../ports/project.ts';
import { toShellWord } from '../session/text/shell-word.ts';
import { listMemos } from '../workflow/context/change-memos.ts';
import { followLine } from '../workflow/conversation/follow-line.ts';
import { findLine } from '../workflow/line/find.ts';
import { listProposed, proposeMemo } from '../workflow/line/proposed-memos.ts';
import { line, commit, session, turn, verdict as verdictSchema } from '../view/schemas.ts';
import { findTurn, readLineTurns, readSession, readTurnFile, readVerdicts, type Verdict } from '../view/view.ts';
import { findWayTo } from '../workflow/line/way-to-line.ts';
import { submitPlan } from '../workflow/turn/submit-plan.ts';
import { TeddyError } from '../errors.ts';
import type { RefWatch } from './ref-watch.ts';
import {
  dataNotice,
  defineTool,
  frame,
  givenText,
  notice,
  sessionName,
  turnName,
  type Tool,
  type ToolCall,
} from './tool.ts';

const planStatuses = ['approved', 'rejected', 'waiting', 'undecided', 'closed'] as const;

export type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>;

const commands = z
  .object({ show: z.string(), approve: z.string(), reject: z.string(), execute: z.string().nullable() })
  .describe('What a person runs in a terminal; tell the user. `execute` is null for a plan that teddy does not run.');

/** The interval between progress reports; most clients give up after a minute without one. */
const progressMs = 10_000;
const maxWaitSeconds = 3600;

/** `read` runs a reading when a slot is free; a call that waits for a verdict does not occupy a slot. */
export function planTools(
  project: Project,
  { inTurn, read, watch }: { inTurn: InTurn; read: InTurn; watch: RefWatch },
): Tool[] {
  return [
    submitTool(project, inTurn),
    verdictTool(project, read, watch),
    listMemosTool(project),
    proposeTool(project, inTurn),
  ];
}

function submitTool(project: Project, inTurn: InTurn): Tool {
  return defineTool({
    name: 'plan_submit',
    title: 'Hand in a plan',
    description:
      'Hands in a plan for a person to look at, before any of it is done. It becomes a commit of a session; nothing is ' +
      "run. A plan in teddy's grammar waits to be executed by a person; any other Markdown waits for a verdict. It " +
      'returns at once: tell the user the commands that it returns, and ask plan_verdict for the verdict.',
    input: z.strictObject({
      plan: givenText(2_000_000).describe("The whole plan: Markdown, or teddy's grammar."),
      message: givenText(100_000).describe("What the plan is for, in the user's words."),
      session: sessionName
        .optional()
        .describe('Append to this session; without it, the plan gets a session of its own.'),
      title: givenText(200).optional().describe('The name of that session is made from it.'),
    }),
    output: z.object({
      session,
      line,
      turn,
      commit,
      planSha256: z.string().describe('Of the plan as stored: a verdict applies to these bytes.'),
      kind: z.enum(['teddy', 'markdown']),
      actions: z.int(),
      problems: z.array(z.string()).describe("Why a plan that looks like teddy's is treated as ordinary Markdown."),
      masked: z.int().describe('How many secrets in it were masked.'),
      commands,
    }),
    kind: 'adds',
    async call({ session: selector, ...given }, { signal }) {
      project.repository.reloadSettings();
      const taken = await inTurn(() => submitPlan(project, { ...given, selector, toChoice: answerByHand, signal }));
      return { ...taken, commands: await toCommands(project, taken) };
    },
    render({ session: id, line, turn: name, planSha256: sha256, kind, problems, masked, commands: run }) {
      const what = kind === 'teddy' ? 'It waits to be executed.' : 'It waits for a verdict.';
      return [
        `The plan is turn ${name} of ${id} (${line}), sha256 ${sha256}. ${what} Nothing was run.`,
        ...(masked === 0 ? [] : [`${masked} secrets in it were masked.`]),
        ...(problems.length === 0 ? [] : [`It is not a valid teddy plan: ${problems.slice(0, 5).join('; ')}`]),
        'Tell the user:',
        `  ${run.show}`,
        `  ${run.approve}`,
        `  ${run.reject}`,
        ...(run.execute === null ? [] : [`  ${run.execute}`]),
        `Then: plan_verdict { session: "${id}", turn: "${name}", waitSeconds: 600 }\n`,
      ].join('\n');
    },
  });
}

async function toCommands(
  project: Project,
  { line, turn: name, planSha256: sha256, kind }: Awaited<ReturnType<typeof submitPlan>>,
) {
  const ref = `refs/heads/${line}` as RefName;
  const where = `${name} -s ${toShellWord(line)}`;
  const bytes = `--sha256 ${sha256.slice(0, 12)}`;
  return {
    show: `teddy show ${where}`,
    approve: `teddy approve ${where} ${bytes}`,
    reject: `teddy reject ${where} ${bytes} -m "why"`,
    execute: kind === 'teddy' ? `${await findWayTo(project, { ref, workspace: null })} && teddy execute` : null,
  };
}

function verdictTool(project: Project, read: InTurn, watch: RefWatch): Tool {
  return defineTool({
    name: 'plan_verdict',
    title: 'Ask for the verdict on a plan',
    description:
      "People's verdict on a turn's plan: approved, rejected with comments, or still waiting. With waitSeconds it " +
      'waits that long for a verdict, and reports progress. Go on only after an approval; after a rejection, read the comments ' +
      'and hand in another plan.',
    input: z.strictObject({
      session: sessionName,
      turn: turnName,
      waitSeconds: z
        .int()
        .min(0)
        .max(maxWaitSeconds)
        .default(0)
        .describe('Seconds to wait for a verdict; 0 by default.'),
    }),
    output: z.object({
      notice,
      session,
      line,
      turn,
      status: z
        .enum(planStatuses)
        .describe(
          'undecided: the agent asked the user directly. closed: it was run or refused without a verdict (see `outcome`).',
        ),
      outcome: z.string().nullable().describe('How its run ended: SUCCESS, ABORTED, ...'),
      planSha256: z.string().describe('Of the plan that was judged or is waiting.'),
      verdict: verdictSchema.nullable(),
    }),
    kind: 'reads',
    waits: true,
    async call({ session: selector, turn: name, waitSeconds: seconds }, call) {
      const { found, last } = await read(async () => {
        const plan = await findPlan(project, selector, name);
        return { found: plan, last: await readLast(project, plan) };
      });
      const end = last ?? (await awaitVerdict(project, { found, seconds, read, watch }, call));
      const { verdict = null, outcome = null } = end ?? {};
      return {
        notice: dataNotice,
        session: found.line.session,
        line: shortRef(found.line.ref),
        turn: found.turn,
        status: toStatus(end),
        outcome,
        planSha256: verdict?.planSha256 ?? found.sha256,
        verdict,
      };
    },
    render({ session: id, line, turn: name, status, outcome, planSha256: sha256, verdict }) {
      const head = `Turn ${name} of ${id}: ${status}${outcome === null ? '' : `, ${outcome}`} (sha256 ${sha256}).`;
      if (status === 'closed') return `${head} Nobody gave a verdict. session_show { session, turn } has its report.\n`;
      if (verdict === null) return `${head} A person decides: teddy approve ${name} -s ${toShellWord(line)}\n`;
      const comments = verdict.comments.map(({ line, text }) => `plan.md, line ${line}: ${text}`);
      const said = [...(verdict.text === null ? [] : [verdict.text]), ...comments];
      const by = `By ${verdict.author.name} <${verdict.author.email}>, ${verdict.at}.`;
      return [head, by, ...(said.length === 0 ? [] : [`What was said about the plan:\n${said.join('\n')}`]), ''].join(
        '\n',
      );
    },
  });
}

/** The last verdict on a plan, and the outcome of its run. Either may be null, but not both. */
interface PlanEnd {
  verdict: Verdict | null;
  outcome: string | null;
}

function toStatus(end: PlanEnd | null): (typeof planStatuses)[number] {
  if (end === null) return 'waiting';
  const { verdict } = end;
  if (verdict === null) return 'closed';
  return verdict.verdict === 'none' ? 'undecided' : verdict.verdict;
}

interface FoundPlan {
  line: Awaited<ReturnType<typeof findLine>>;
  turn: ReturnType<typeof findTurn>;
  sha256: string;
}

/** Throws UNKNOWN_SESSION, UNKNOWN_TURN, and NO_PENDING_PLAN when the turn has no plan. */
async function findPlan(project: Project, selector: string, name: string): Promise<FoundPlan> {
  const { store } = project.repository;
  const main = isSessionId(selector) ? mainLineRef(selector) : null;
  const line = await findLine(project, main !== null && (await store.resolve(main)) !== null ? main : selector);
  const tip = line.tip ?? (line.remoteTip as Oid);
  const state = await readLineTurns(store, tip);
  const found = findTurn(state, name);
  const plan = await readTurnFile(store, { commit: state.entryOid, session: line.session, turn: found }, 'plan.md');
  if (plan === null)
    throw new TeddyError(
      'NO_PENDING_PLAN',
      `Turn ${found} of ${line.session} has no plan.`,
      'plan_submit hands one in.',
    );
  return { line, turn: found, sha256: project.hash(plan) };
}

async function readLast(
  project: Project,
  { line: { ref, session, ...line }, turn }: FoundPlan,
): Promise<PlanEnd | null> {
  const { store } = project.repository;
  const tip = (await store.resolve(ref)) ?? line.remoteTip ?? line.tip;
  if (tip === null) return null;
  const verdict = (await readVerdicts(project, { tip, session, turn })).at(-1) ?? null;
  const { turns } = await readSession(store, { session, tip }, { only: turn });
  const outcome = turns.find((one) => one.turn === turn)?.outcome ?? null;
  return verdict === null && outcome === null ? null : { verdict, outcome };
}

/** Returns null when the time is over or the line is gone. */
async function awaitVerdict(
  project: Project,
  { found, seconds, read, watch }: { found: FoundPlan; seconds: number; read: InTurn; watch: RefWatch },
  { signal, progress }: ToolCall,
): Promise<PlanEnd | null> {
  if (seconds === 0) return null;
  const { line } = found;
  // The timer keeps the signal alive. Node garbage-collects an `AbortSignal.timeout` that only an `AbortSignal.any`
  // refers to, and the timeout never fires.
  const late = new AbortController();
  const limit = setTimeout(() => late.abort(), seconds * 1000);
  const stop = AbortSignal.any([signal, late.signal]);
  const report = () => progress(`Turn ${found.turn} is waiting for a verdict.`).catch(() => undefined);
  const timer = setInterval(() => void report(), progressMs);
  try {
    void report();
    let seen: Oid | null = null;
    const pause = () => watch.moved(line.ref, seen, stop);
    const request = { selector: line.ref, after: null, pause, signal: stop };
    const { events } = await read(() => followLine(project, request));
    for await (const event of events) {
      if (event.kind === 'end') return null;
      seen = event.position.commit;
      // Looks once more now that it follows the line, so as not to miss a verdict given in between.
      const isNews = event.kind !== 'record' || event.record.type === 'approval';
      const end = isNews ? await read(() => readLast(project, found)) : null;
      if (end !== null) return end;
    }
    return null;
  } finally {
    clearInterval(timer);
    clearTimeout(limit);
  }
}

const facts = z.array(z.string());

function listMemosTool(project: Project): Tool {
  return defineTool({
    name: 'memo_list',
    title: 'List the memos',
    description:
      "The facts that every session in this repository is told, and those that wait for the user's approval.",
    input: z.strictObject({}),
    output: z.object({
      notice,
      memos: facts,
      proposed: facts.describe('Facts that agents proposed; no session is told them yet.'),
    }),
    kind: 'reads',
    async call() {
      const [memos, proposed] = await Promise.all([listMemos(project), listProposed(project)]);
      return { notice: dataNotice, memos, proposed };
    },
    render({ memos, proposed }) {
      const rows = [...memos, ...proposed.map((fact) => `(proposed, waiting for the user) ${fact}`)];
      return rows.length === 0 ? 'There are no memos.\n' : frame(rows.join('\n'), () => project.ids.writeId());
    },
  });
}

function proposeTool(project: Project, inTurn: InTurn): Tool {
  return defineTool({
    name: 'memo_propose',
    title: 'Propose a memo',
    description:
      "Proposes a fact that every session in this repository should be told. It waits for the user's approval, and " +
      'no session is told it before then: tell the user the command that it returns.',
    input: z.strictObject({ fact: givenText(500).regex(/^[^\n\r]*$/, { error: 'must be one line' }) }),
    output: z.object({
      state: z.enum(['waits', 'known']).describe('known: it is already a memo.'),
      fact: z.string(),
      accept: z.string().describe('What the user runs to accept it.'),
      refuse: z.string().describe('What the user runs to reject it.'),
    }),
    kind: 'adds',
    async call({ fact: text }) {
      const { fact, state } = await inTurn(() => proposeMemo(project, text));
      const word = toShellWord(fact);
      return { state, fact, accept: `teddy memo add -- ${word}`, refuse: `teddy memo remove -- ${word}` };
    },
    render({ state, accept, refuse }) {
      if (state === 'known') return 'It is already a memo.\n';
      return `It waits for the user, and no session is told it yet. The user accepts it: ${accept}\nor rejects it: ${refuse}\n`;
    },
  });
}
