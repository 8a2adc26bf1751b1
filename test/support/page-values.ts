/** A handmade page, with one of everything, for tests of rendering. */
import type { renderList } from '../../src/page/render-list.ts';
import { createHash } from 'node:crypto';
import { parsePlan } from '../../src/plan/parse/parse.ts';
import type { Report } from '../../src/plan/report/report.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../../src/names.ts';
import type { PageFile, PageRequest, PageTurn, SessionPage } from '../../src/page/session-page.ts';
import { renderUnifiedDiff } from '../../src/plan/match/diff.ts';

export const sha256 = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex');

export const whole = (text: string) => ({ text, cut: null });

export const oid = (text: string) => createHash('sha1').update(text).digest('hex') as Oid;

const nothing = { answers: 0, unreported: 0, inputTokens: 0, outputTokens: 0, costUsd: null };

export function pageFile(path: string, before: string | null, after: string, action: number | null = null): PageFile {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const body = renderUnifiedDiff(path, before === null ? null : bytes(before), bytes(after));
  const lines = body.split('\n').slice(2);
  return {
    path: path as RepoPath,
    change: before === null ? 'added' : 'modified',
    added: lines.filter((line) => line.startsWith('+')).length,
    removed: lines.filter((line) => line.startsWith('-')).length,
    kind: 'text',
    diff: whole(`diff --git a/${path} b/${path}\n${body}`),
    action,
    before: before === null ? null : oid(before),
    after: oid(after),
    replaces: [],
  };
}

export function pagePlan(text: string): NonNullable<PageTurn['plan']> {
  return {
    source: whole(text),
    sha256: sha256(text),
    isExact: true,
    commit: oid(text),
    parsed: parsePlan(text),
    isForeign: false,
    preview: null,
  };
}

export function pageReport(
  turn: string,
  logs: Partial<Report['action_logs'][number]>[],
  more: Partial<Report> = {},
): NonNullable<PageTurn['report']> {
  const report = {
    version: 1,
    session: 'a-session' as SessionId,
    turn: turn as TurnName,
    plan: { title: '', sha256: '', agent: null, model: null },
    run_summary: {
      status: 'SUCCESS',
      start_time: '2026-01-24T10:00:00.000Z',
      end_time: '2026-01-24T10:00:02.000Z',
      error: null,
    },
    memos: { added: [], removed: [], rejected: [] },
    action_logs: logs.map((log, at) => ({
      index: at + 1,
      action_type: 'CREATE',
      status: 'SUCCESS',
      params: {},
      approved_by: 'user',
      ...log,
    })),
    changes: [],
    validation_errors: [],
    ...more,
  } as Report;
  return { commit: oid(`report ${turn}`), author: 'Ada', time: '2026-01-24T10:01:00.000Z', report, cut: null };
}

export function pageRequest(turn: string, sections: Partial<PageRequest['sections'][number]>[]): PageRequest {
  return {
    commit: oid(`log ${turn}`),
    command: `git show ${oid(`log ${turn}`).slice(0, 10)}:.teddy/sessions/a-session/${turn}/_context.log`,
    tokens: sections.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
    bytes: sections.reduce((sum, { bytes = 0 }) => sum + bytes, 0),
    masked: 0,
    parameters: {},
    sections: sections.map((section) => ({
      name: 'file',
      of: null,
      state: 'shown',
      reason: null,
      tokens: 100,
      bytes: 400,
      marker: null,
      body: { kind: 'text', text: whole('text\n') },
      ...section,
    })),
  };
}

export function pageTurn(turn: string, more: Partial<PageTurn> = {}): PageTurn {
  const minute = turn.slice(0, 2);
  return {
    turn: turn as TurnName,
    name: turn as TurnName,
    line: 'teddy/a-session',
    parent: null,
    status: 'closed',
    awaitsVerdict: false,
    outcome: null,
    author: 'Ada',
    agent: null,
    provider: null,
    model: 'a-model',
    startedAt: `2026-01-24T10:${minute}:00.000Z`,
    endedAt: `2026-01-24T10:${minute}:30.000Z`,
    parts: [{ kind: 'message', text: whole(`Message of turn ${turn}.`), isSpoken: false, isPartial: false }],
    plan: null,
    verdicts: [],
    report: null,
    promise: null,
    files: [],
    request: null,
    commits: [
      {
        commit: oid(turn),
        kind: 'message',
        time: `2026-01-24T10:${minute}:00.000Z`,
        title: `Message of turn ${turn}.`,
      },
    ],
    spent: nothing,
    undoneBy: null,
    partlyUndoneBy: null,
    faults: [],
    ...more,
  };
}

export function sessionPage(turns: PageTurn[], more: Partial<SessionPage> = {}): SessionPage {
  return {
    version: '0.1.0',
    source: {
      session: 'a-session' as SessionId,
      line: 'teddy/a-session',
      lines: [{ name: 'teddy/a-session', tip: oid('tip') }],
      landed: [],
    },
    title: 'A session',
    base: { commit: oid('base'), branch: 'main' },
    authors: ['Ada'],
    startedAt: '2026-01-24T10:00:00.000Z',
    endedAt: '2026-01-24T10:59:00.000Z',
    turns,
    others: [],
    spent: nothing,
    shown: turns.filter(({ line }) => line === 'teddy/a-session').map(({ turn }) => turn),
    files: [],
    comparisons: [],
    checks: null,
    ...more,
  };
}

export type ListedRow = Parameters<typeof renderList>[0][number];

export function listedRow(name: string, more: Partial<ListedRow> = {}): ListedRow {
  const session = `20260124-${name}`;
  return {
    session,
    line: `teddy/${session}`,
    turns: 1,
    state: 'closed',
    words: more.state ?? 'closed',
    end: more.state ?? 'closed',
    awaitsVerdict: false,
    beside: null,
    title: 'Do it',
    asked: null,
    updated: '2026-01-24T10:00:00.000Z',
    current: false,
    conversationBranches: [],
    agent: null,
    changed: null,
    spent: null,
    waiting: [],
    ...more,
  };
}
