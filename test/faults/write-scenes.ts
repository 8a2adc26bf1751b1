/** Repositories in which a write session is about to begin, on a line and off every line, or was left by a crash. */
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTeddy } from '../support/run-teddy.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { buildChild } from './build-child.ts';
import { killAt } from './fault.ts';
import { runChild } from './run-child.ts';
import { copiesIn, dirty, readStatus, type Copies, type Scene } from './scenes.ts';
import { keptText, type WriteSceneName } from './write-cases.ts';

export interface WriteStage extends Copies {
  scenes: Record<WriteSceneName, Scene>;
}

export async function openWriteStage(): Promise<WriteStage> {
  const dir = await mkdtemp(join(tmpdir(), 'teddy-faults-'));
  const program = await buildChild(dir);
  const copies = copiesIn(dir, program);
  return { ...copies, scenes: await makeScenes(dir, copies) };
}

async function makeScenes(dir: string, copies: Copies): Promise<WriteStage['scenes']> {
  const first = await makeScratchRepository({
    'src/kept.txt': keptText,
    'src/edited.txt': 'before\n',
    'README.md': '# Faults\n',
  });
  try {
    await dirty(first);
    const newHere = await take(first, dir, 'write-first-off-line');
    await teddy(first, 'session', 'new', 'writes');
    await first.git('switch', '--quiet', 'main');
    const offLine = await take(first, dir, 'write-off-line');
    await teddy(first, 'session', 'new', 'first');
    const create = await take(first, dir, 'write-create');
    const scenes = {
      'write-create': create,
      'write-overwrite': await take(first, dir, 'write-overwrite'),
      'write-append': await take(first, dir, 'write-append'),
      'write-one-shot': await take(first, dir, 'write-one-shot'),
      'write-cancel': await take(first, dir, 'write-cancel'),
      'write-off-line': offLine,
      'write-first-off-line': newHere,
    };
    return { ...scenes, 'write-left': await takeLeft(copies, create) };
  } finally {
    await first.close();
  }
}

async function take(repository: ScratchRepository, dir: string, name: WriteSceneName): Promise<Scene> {
  const ref = (await repository.git('symbolic-ref', 'HEAD')).trim();
  const isOnLine = ref.startsWith('refs/heads/teddy/');
  const template = join(dir, name);
  await cp(repository.root, template, { recursive: true, preserveTimestamps: true });
  const oldTip = await repository.git('rev-parse', 'HEAD');
  const status = await readStatus(repository);
  return { name, operation: name, template, ref: isOnLine ? ref : null, oldTip, entries: ['write'], status };
}

/** Its controller died during a save: the last bytes are written, and no state confirms them. */
async function takeLeft(copies: Copies, create: Scene): Promise<Scene> {
  const { root } = await copies.copy(create);
  const { program } = copies;
  const { hit } = await runChild({ program, operation: create.operation, root, fault: killAt('write-content', 2) });
  if (hit === null) throw new Error('The session does not save twice.');
  return { ...create, name: 'write-left', operation: 'write-left', template: root };
}

async function teddy(repository: ScratchRepository, ...args: string[]): Promise<void> {
  const result = await runTeddy(args, { cwd: repository.root });
  if (result.exitCode !== 0) throw new Error(`teddy ${args.join(' ')}: ${result.stderr}`);
}
