/** Replaces `node:child_process` in the child program: each started git is a point. */
import { spawn as realSpawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { passGit } from './fault-points.ts';

export { execFile } from 'node:child_process';

/** Feeds git all but the last command, so that it holds its locks; then git dies, and the program that waits for it. */
const dieInTransaction = `
fifo=$(mktemp -u); mkfifo "$fifo"
git "$@" <"$fifo" >/dev/null & git=$!
exec 3>"$fifo"; rm "$fifo"
sed '/^commit$/d' >&3
sleep 0.1
kill -9 $git ${process.pid}`;

const scripts = {
  refused: 'exit 1',
  killed: 'kill -9 $$',
  'answer-lost': 'git "$@"; exit 1',
  'kill-in-transaction': dieInTransaction,
};

export function spawn(file: string, args: string[], options: SpawnOptions): ChildProcess {
  const wish = file === 'git' ? passGit(args) : 'start';
  if (wish === 'start') return realSpawn(file, args, options);
  const script = typeof wish === 'string' ? scripts[wish] : wish.script;
  // The last one is for a script that announces something itself.
  return realSpawn('sh', ['-c', script, 'sh', ...args], { ...options, stdio: ['pipe', 'pipe', 'pipe', 1] });
}
