/** All that a plan will do, before the first question. */
import { renderUnifiedDiff } from '../plan/diff.ts';
import type { Effect } from '../plan/effect.ts';
import { joinWrites } from '../plan/join-writes.ts';
import { toVisible, type Terminal } from './terminal.ts';

type WriteEffect = Extract<Effect, { kind: 'write' }>;

export function showSummary(terminal: Terminal, effects: readonly Effect[]): void {
  if (effects.length === 0) return;
  const files = joinWrites(effects);
  const commands = effects.flatMap((effect) =>
    effect.kind === 'command' ? [`  $ ${toFirstLine(effect.script)}`] : [],
  );
  const others = effects.flatMap((effect) => (isOther(effect) ? [`  ${describeOther(effect)}`] : []));
  const counts = [
    ...count(files.length, 'file'),
    ...count(commands.length, 'command'),
    ...count(others.length, 'other action'),
  ];
  const title = terminal.style('bold', `The plan: ${counts.join(', ')}`, 'stderr');
  const lines = [...files.map(describeFile), ...commands, ...others].map((line) => toVisible(line).replace(/\n/g, ' '));
  terminal.say([title, ...lines].join('\n'));
}

function describeFile({ path, before, after }: WriteEffect): string {
  const diff = renderUnifiedDiff(path, before, after).split('\n');
  const changes = diff.slice(diff.findIndex((line) => line.startsWith('@@')) + 1);
  const signed = (sign: string) => changes.filter((line) => line.startsWith(sign)).length;
  const size = diff[0]?.startsWith('Binary') ? 'binary' : `+${signed('+')} -${signed('-')}`;
  return `  ${path}  ${size}${before === null ? '  new' : ''}`;
}

const isOther = ({ kind }: Effect): boolean => kind !== 'write' && kind !== 'command';

function describeOther(effect: Effect): string {
  if (effect.kind === 'search') return `search ${effect.queries.join(', ')}`;
  const [target] = ['path', 'url', 'resource', 'agent', 'text'].flatMap((key) =>
    key in effect ? [String(effect[key as keyof Effect])] : [],
  );
  return `${effect.kind} ${toFirstLine(target ?? '')}`.trimEnd();
}

function toFirstLine(text: string): string {
  const [first = '', ...more] = text.trim().split('\n');
  return more.length === 0 ? first : `${first} ...`;
}

function count(number: number, name: string): string[] {
  return number === 0 ? [] : [`${number} ${name}${number === 1 ? '' : 's'}`];
}
