/** Describes a report for the label of its entry. */
import type { Report } from './report.ts';

export function labelReport({ run_summary: { status, error }, plan, action_logs }: Report): {
  title: string;
  details: string[];
} {
  const rows = action_logs.map(({ index, action_type, params, status: outcome }) => {
    const [first] = String(Object.values(params)[0] ?? '').split('\n');
    return `${index}. ${action_type} ${first}: ${outcome}`;
  });
  return { title: `${status} ${plan.title}`, details: [...(error === null ? [] : [error]), ...rows] };
}
