/** The pages of `teddy serve`: the list of sessions, one session live, and the acts that the user can start from them. */
import { createRoute, z } from '@hono/zod-openapi';
import { TeddyError } from '../errors.ts';
import { findWaiting, renderControls, renderLive, toTurnVersions, type LiveOptions } from '../page/live.ts';
import { renderList } from '../page/render-list.ts';
import { renderSessionPage } from '../page/render-page.ts';
import { renderTurn } from '../page/turn.ts';
import type { PageSource, SessionPage } from '../page/session-page.ts';
import type { Project } from '../ports/project.ts';
import type { SessionId } from '../names.ts';
import { toVisible } from '../session/text/visible-text.ts';
import { findLine } from '../workflow/line/find.ts';
import { maskedOutput, type MaskedOutput } from '../workflow/line/masked-output.ts';
import { mayApprove } from '../workflow/line/needed-approval.ts';
import { maskProblems } from '../workflow/line/mask-text.ts';
import { overviewReader } from '../workflow/review/count-all-costs.ts';
import { previewPlan } from '../workflow/run/preview-plan.ts';
import type { AppendSignal } from './append-signal.ts';
import type { ServerEvent } from './event-stream.ts';
import type { PageAccess } from './page-access.ts';
import { actRequest, type Act, type ActTools, type PageActs } from './page-acts.ts';
import { Refusal, toPageWords } from './refusal.ts';
import { json, ok, parse, refusals, security, type Call, type PlainRoute, type Reply, type Route } from './route.ts';
import type { StatusChanges } from './status.ts';

/** The means by which a page gets its data. */
export interface PageTools extends ActTools {
  /** The project that the server has opened. */
  project: Project;
  find(project: Project, selector: string): Promise<PageSource>;
  read(project: Project, source: PageSource): Promise<SessionPage>;
  /** Opens a link in the user's browser. Resolves with false when no browser could be started. */
  openBrowser(link: string): Promise<boolean>;
}

export interface PageRouteOptions {
  tools: PageTools;
  access: PageAccess;
  acts: PageActs;
  /** Signals anything that a page waits for. */
  happened: AppendSignal;
  /** The interval at which to poll lines, because other processes append to them too. */
  lookMs: number;
}

const statuses: StatusChanges = { UNKNOWN_SESSION: 404, VALIDATION_FAILED: 409 };
/** Finding new branches means listing all refs, so teddy does this less often. */
const looksPerListing = 6;

const linkRequest = z.object({ session: z.string().optional() });
const linkAnswer = z.object({ link: z.string(), expiresAt: z.string(), mayApprove: z.boolean() });
export type PageLink = z.infer<typeof linkAnswer>;
const openingAnswer = z.object({ opened: z.boolean() });

/**
 * The call that makes a link to a page. A program calls it with the token; the page can approve plans only when that
 * program does not belong to an agent.
 */
export function linkRoute({ tools, access }: PageRouteOptions): Route {
  return {
    config: createRoute({
      operationId: 'openPage',
      summary: 'Make a link that opens the pages in a browser; it works once, within a minute',
      method: 'post',
      path: '/api/page-links',
      security,
      request: { body: { required: true, content: json(linkRequest) } },
      responses: { 200: { description: 'The link.', content: json(linkAnswer) }, ...refusals(400, 404) },
    }),
    statuses,
    async answer(call) {
      const { session } = parse(linkRequest, await call.json());
      const { project } = tools;
      const trace = await project.callers.findAgentBehind({ from: call.peerPort, to: call.port });
      const link = { session, origin: call.origin, mayApprove: await mayApprove(project, trace) };
      return ok(await issueLink(tools, access, link));
    },
  };
}

/** The call that opens a page in the user's browser, for a program that must not receive the link. */
export function openingRoute({ tools, access }: PageRouteOptions): Route {
  return {
    config: createRoute({
      operationId: 'showPage',
      summary: 'Open the pages in the browser of the person who works on this machine',
      method: 'post',
      path: '/api/page-openings',
      security,
      request: { body: { required: true, content: json(linkRequest) } },
      responses: {
        200: { description: 'Whether a browser could be started.', content: json(openingAnswer) },
        ...refusals(400, 404),
      },
    }),
    statuses,
    async answer(call) {
      const { session } = parse(linkRequest, await call.json());
      const { link } = await issueLink(tools, access, { session, origin: call.origin, mayApprove: true });
      return ok({ opened: await tools.openBrowser(link) });
    },
  };
}

export async function issueLink(
  tools: PageTools,
  access: PageAccess,
  { session, origin, mayApprove }: { session: string | undefined; origin: string; mayApprove: boolean },
): Promise<PageLink> {
  const path = session === undefined ? '/' : await toPath(tools, session);
  const { code, expiresAt } = access.issue(path, mayApprove ? 'person' : 'program');
  return { link: `${origin}/open?code=${code}`, expiresAt: expiresAt.toISOString(), mayApprove };
}

async function toPath({ project, find }: PageTools, selector: string): Promise<string> {
  const { session, line } = await find(project, selector);
  return `/sessions/${encodeURIComponent(line === `teddy/${session}` ? session : line)}`;
}

export function pageRoutes(options: PageRouteOptions): PlainRoute[] {
  const readPage = pageReader(options.tools);
  return [openRoute(options), listRoute(options), ...viewRoutes(options, readPage), ...actRoutes(options, readPage)];
}

function openRoute({ access }: PageRouteOptions): PlainRoute {
  return {
    method: 'get',
    path: '/open',
    async answer(call) {
      const found = access.redeem(call.query['code']?.[0] ?? '');
      if (found !== null) return { status: 303, location: found.path, cookie: access.cookie(call.port, found.visitor) };
      throw new Refusal(
        'CODE_REFUSED',
        'This link was already used, or is more than a minute old. Each link works only once.',
      );
    },
  };
}

function listRoute({ tools: { project } }: PageRouteOptions): PlainRoute {
  const read = overviewReader(project);
  return {
    method: 'get',
    path: '/',
    async answer({ query }) {
      const filter = { query: query['q']?.[0] ?? '', state: query['state']?.[0] ?? '' };
      const html = renderList(await read(), filter, project.clock.now());
      return { status: 200, html, formAction: "'self'" };
    },
  };
}

/** A session's page, and the parts that the page reloads as they change. */
function viewRoutes(options: PageRouteOptions, readPage: ReadPage): PlainRoute[] {
  const { project } = options.tools;
  const view = (path: string, render: (shown: SessionPage, call: Call) => string | Promise<string>): PlainRoute => ({
    ...ofSession('get', path),
    async answer(call) {
      return { status: 200, html: await render(await readPage(call.session), call), formAction: "'none'" };
    },
  });
  return [
    view('', async (shown) =>
      renderSessionPage(shown, project.hash, renderLive(shown, await readLive(project, shown))),
    ),
    view('/turns/:turn', (shown, call) => {
      const turn = shown.turns.find((one) => one.turn === call.turn);
      if (turn !== undefined) return renderTurn(turn, shown).markup;
      throw new TeddyError(
        'UNKNOWN_TURN',
        `${shown.source.session} has no turn ${JSON.stringify(call.turn)}.`,
        "The session's page shows all of its turns.",
      );
    }),
    view('/controls', async (shown) => renderControls(shown, await readLive(project, shown)).markup),
    { ...ofSession('get', '/live'), answer: (call) => followPage(options, readPage, call) },
  ];
}

function ofSession<Method extends 'get' | 'post'>(method: Method, path: string) {
  return { method, path: `/sessions/:session${path}`, statuses };
}

/** The routes that begin, answer and stop acts; `page-acts.ts` carries them out. */
function actRoutes({ tools, acts }: PageRouteOptions, readPage: ReadPage): PlainRoute[] {
  const find = (call: Call) => tools.find(tools.project, call.session);
  return [
    {
      ...ofSession('post', '/acts'),
      async answer(call) {
        const request = parse(actRequest, await call.json());
        if (request.kind === 'run' || request.kind === 'approve')
          await refuseInvalid(tools.project, await readPage(call.session), request);
        await acts.begin(await find(call), request, call.visitor);
        return { status: 202, body: { began: true } };
      },
    },
    {
      ...ofSession('post', '/stop'),
      answer: async (call) => ok({ stopped: acts.stop((await find(call)).session) }),
    },
    {
      ...ofSession('post', '/answer'),
      async answer(call) {
        const { question, text } = parse(answerRequest, await call.json());
        const { session } = await find(call);
        return ok({ taken: acts.answer(session, question, text) });
      },
    },
  ];
}

/** A null `text` means no answer. */
const answerRequest = z.object({ question: z.int(), text: z.string().nullable() });

/** Refuses what the page does not offer: a run or an approval of a plan that would not run. Throws VALIDATION_FAILED. */
async function refuseInvalid(project: Project, shown: SessionPage, { plan }: { plan: string }): Promise<void> {
  const waiting = findWaiting(shown, await readLive(project, shown));
  const [problem] = waiting?.plan.sha256 === plan ? waiting.problems : [];
  if (waiting === null || problem === undefined) return;
  throw new TeddyError('VALIDATION_FAILED', `The plan of turn ${waiting.turn.turn} is not valid: ${problem.message}`);
}

type ReadPage = (selector: string) => Promise<SessionPage>;

/** Reading a long session takes a while, so teddy reuses the result for the same commits. */
function pageReader({ project, open, find, read }: PageTools): ReadPage {
  let last: { key: string; page: Promise<SessionPage> } | null = null;
  return async (selector) => {
    const source = await find(project, selector);
    const key = JSON.stringify(source);
    if (last?.key === key) return last.page;
    // Opens the project anew, so that secrets configured since are masked too.
    const opened = await open(project.notices);
    const page = read(opened, source).finally(() => opened.repository.close());
    last = { key, page };
    page.catch(() => (last = last?.page === page ? null : last));
    return page;
  };
}

/** Checks the pending plan against the user's files, too, because the page itself knows only the commits. */
async function readLive(project: Project, { source, turns }: SessionPage): Promise<LiveOptions> {
  const toReason = (error: unknown) => {
    if (!(error instanceof TeddyError)) throw error;
    const { message, hint } = toPageWords(error);
    return [message, hint ?? ''].join(' ').trim();
  };
  const line = await findLine(project, source.line).catch(toReason);
  if (typeof line === 'string') return { maySay: line, mayAct: line, problems: null };
  if (turns.every(({ status }) => status !== 'planned')) return { maySay: true, mayAct: true, problems: null };
  const silent = { ...project, notices: { info: () => undefined, warn: () => undefined } };
  try {
    const { problems } = await previewPlan(silent, { selector: source.line });
    return { maySay: true, mayAct: true, problems: await maskProblems(project.masker, problems) };
  } catch (error) {
    return { maySay: true, mayAct: toReason(error), problems: null };
  }
}

/**
 * Follows a session. New commits arrive as `state`, with each turn's version; an act that is under way arrives event by
 * event.
 */
async function followPage(
  { tools, acts, happened, lookMs }: PageRouteOptions,
  readPage: ReadPage,
  { session: selector }: Call,
): Promise<Reply> {
  const { project, find } = tools;
  const { session } = await find(project, selector);
  return {
    async *events(signal) {
      const leave = acts.attend(session);
      const listener = happened.listen();
      const look = tipWatcher(project, () => find(project, selector));
      const readElsewhere = elsewhereReader(project, session);
      let shown: { act: Act | null; next: number } = { act: null, next: 0 };
      try {
        const act = acts.find(session);
        shown = { act, next: act === null || act.isOver ? Number.POSITIVE_INFINITY : 0 };
        if (act === null || act.isOver) yield { event: 'idle', data: {} };
        for (let looks = 0; !signal.aborted; looks += 1) {
          const found = acts.find(session);
          if (found !== null && found !== shown.act) shown = { act: found, next: 0 };
          if (shown.act !== null) {
            const { events, next } = takeEvents(shown.act, shown.next);
            yield* events;
            shown.next = next;
          }
          yield* await readElsewhere();
          if (await look(looks % looksPerListing === 0)) yield toState(await readPage(selector));
          await listener.pause(lookMs, signal);
        }
      } finally {
        listener.close();
        leave();
      }
    },
  };
}

/**
 * Reads the answers that other processes are receiving, line by line as they reach the disk, a few seconds after they
 * arrive.
 */
function elsewhereReader(project: Project, session: SessionId): () => Promise<ServerEvent[]> {
  const known = new Map<string, { length: number; output: MaskedOutput; shown: ServerEvent[] }>();
  return async () => {
    const arriving = await project.answers.arriving(session);
    for (const { place, text } of arriving) {
      const { id, turn, agent, model } = place;
      const one = known.get(id) ?? openElsewhere(project, id);
      if (!known.has(id))
        one.shown.push({
          event: 'elsewhere',
          data: { id, turn, title: `Turn ${turn}: ${model} is answering ${agent} in another process` },
        });
      one.output.add('stdout', text.slice(one.length));
      known.set(id, { ...one, length: text.length });
    }
    const events = [...known.values()].flatMap(({ shown }) => shown.splice(0));
    for (const id of known.keys()) {
      if (arriving.some(({ place }) => place.id === id)) continue;
      known.delete(id);
      events.push({ event: 'elsewhere', data: { id, isOver: true } });
    }
    return events;
  };
}

function openElsewhere({ masker }: Project, id: string) {
  const shown: ServerEvent[] = [];
  const show = (text: string) => void shown.push({ event: 'elsewhere', data: { id, text: toVisible(text) } });
  return { length: 0, output: maskedOutput(masker, (_, text) => show(text)), shown };
}

function takeEvents({ events, first }: Act, next: number): { events: ServerEvent[]; next: number } {
  const end = first + events.length;
  if (next >= end) return { events: [], next };
  const cut: ServerEvent[] = next < first ? [{ event: 'cut', data: { count: first - next } }] : [];
  return { events: [...cut, ...events.slice(Math.max(next - first, 0))], next: end };
}

function toState(page: SessionPage): ServerEvent {
  const landed = page.others.filter(({ kind }) => kind === 'landing').length;
  return { event: 'state', data: { turns: toTurnVersions(page), landed } };
}

/** Returns a function that returns true if the session's lines have moved since its last call; its first result is true. */
function tipWatcher(
  { repository: { store } }: Project,
  find: () => Promise<PageSource>,
): (listsAll: boolean) => Promise<boolean> {
  let source: PageSource | null = null;
  let refs = '';
  const isAsBefore = async (listsAll: boolean) => {
    const before = refs;
    if (listsAll) refs = JSON.stringify(await store.listRefs('refs/heads/'));
    const lines = source?.lines ?? [];
    const tips = await Promise.all(lines.map(({ name }) => store.resolve(name)));
    return source !== null && refs === before && lines.every(({ tip }, at) => tip === tips[at]);
  };
  return async (listsAll) => {
    if (await isAsBefore(listsAll)) return false;
    const before = JSON.stringify(source);
    source = await find();
    return JSON.stringify(source) !== before;
  };
}
