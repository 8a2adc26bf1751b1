/** Repositories in which a conversation is about to begin, or was interrupted by a crash. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTeddy } from '../support/run-teddy.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { buildChild } from './build-child.ts';
import { logPath, type ChatSceneName } from './chat-script.ts';
import { answerText } from './plans.ts';
import { copiesIn, dirty, readStatus, type Copies, type Scene } from './scenes.ts';

export interface ChatStage extends Copies {
  scenes: Record<ChatSceneName, Scene>;
}

export async function openChatStage(): Promise<ChatStage> {
  const dir = await mkdtemp(join(tmpdir(), 'teddy-faults-'));
  const program = await buildChild(dir);
  return { ...copiesIn(dir, program), scenes: await makeScenes(dir) };
}

/** There is an earlier turn, and the user has edits. */
async function makeScenes(dir: string): Promise<ChatStage['scenes']> {
  const first = await makeScratchRepository({
    'src/kept.txt': 'kept\n',
    'src/edited.txt': 'before\n',
    [logPath]: 'log\n',
    'README.md': '# Faults\n',
  });
  const answer = join(dir, 'answer.md');
  await writeFile(answer, answerText);
  try {
    await teddy(first, 'session', 'new', 'first');
    await teddy(first, 'session', 'plan', '-m', 'Begin.', '--from', answer);
    await teddy(first, 'session', 'execute', '-y');
    await dirty(first);
    return { chat: await take(first, dir, 'chat'), 'chat-write': await take(first, dir, 'chat-write') };
  } finally {
    await first.close();
  }
}

async function take(repository: ScratchRepository, dir: string, name: ChatSceneName): Promise<Scene> {
  const ref = await repository.git('symbolic-ref', 'HEAD');
  const oldTip = await repository.git('rev-parse', 'HEAD');
  const template = join(dir, name);
  await cp(repository.root, template, { recursive: true, preserveTimestamps: true });
  const entries = name === 'chat' ? ['exchange', 'exchange'] : ['write', 'exchange'];
  return {
    name,
    operation: name,
    template,
    ref,
    oldTip,
    entries: ['snapshot', 'message', ...entries, 'reply'],
    status: await readStatus(repository),
  };
}

async function teddy(repository: ScratchRepository, ...args: string[]): Promise<void> {
  const result = await runTeddy(args, { cwd: repository.root });
  if (result.exitCode !== 0) throw new Error(`teddy ${args.join(' ')}: ${result.stderr}`);
}
