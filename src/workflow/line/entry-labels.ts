/** Labels for entries: each describes what its entry adds. Checking an entry rebuilds its label. */
import type { ApprovalRecord } from '../../conversation/records/record.ts';
import type { TurnName } from '../../names.ts';
import { describeAction } from '../../plan/actions/actions.ts';
import type { Plan } from '../../plan/plan.ts';
import type { Report } from '../../plan/report/report.ts';
import type { Entry } from '../../session/entries/entry.ts';

export type Label = Pick<Entry, 'title' | 'details'>;

export function labelPlan({ title, actions }: Plan): Label {
  return { title, details: actions.map((action) => `${action.index}. ${describeAction(action)}`) };
}

/** Labels an agent's submitted plan with its first heading, otherwise with its first line. */
export function labelHandedIn(plan: string): Label {
  const lines = plan.trim().split('\n');
  const title = lines.find((line) => /^#{1,6}\s+\S/.test(line)) ?? lines[0] ?? '';
  return { title: title.replace(/^#{1,6}\s+|[\s#]+$/g, '').slice(0, 200), details: [] };
}

export function labelVerdict({ verdict, text, comments }: ApprovalRecord, title: string): Label {
  const word = verdict === 'none' ? 'no verdict on' : verdict;
  const details = [
    ...(text === undefined ? [] : text.split('\n')),
    ...comments.map((comment) => `line ${comment.line}: ${comment.text}`),
  ];
  return { title: `${word} ${title}`, details };
}

export function labelReport({ run_summary: { status, error }, plan, action_logs }: Report): Label {
  const rows = action_logs.map(({ index, action_type, params, status: outcome }) => {
    const [first] = String(Object.values(params)[0] ?? '').split('\n');
    return `${index}. ${action_type} ${first}: ${outcome}`;
  });
  return { title: `${status} ${plan.title}`, details: [...(error === null ? [] : [error]), ...rows] };
}

export function labelBranch(original: TurnName): Label {
  return { title: `from turn ${original}`, details: [] };
}

export function labelUndo(turn: TurnName, isRedo: boolean, paths: readonly string[]): Label {
  return { title: `${countFiles(paths)} of turn ${turn} ${isRedo ? 'put back' : 'taken back'}`, details: [...paths] };
}

export function labelEdits(paths: readonly string[], whose = "of the user's own edits"): Label {
  const details = paths.length <= 10 ? [...paths] : [...paths.slice(0, 9), `and ${paths.length - 9} more`];
  return { title: `${countFiles(paths)} ${whose}`, details };
}

export function labelMemos(changes: readonly { kind: 'add' | 'remove'; fact: string }[]): Label {
  return {
    title: changes.length === 1 ? (changes[0]?.fact ?? '') : `${changes.length} memos`,
    details: changes.map(({ kind, fact }) => `${kind === 'add' ? '[+]' : '[-]'} ${fact}`),
  };
}

function countFiles(paths: readonly string[]): string {
  return `${paths.length} ${paths.length === 1 ? 'file' : 'files'}`;
}
