/** Real processes that race for claims, and for the slot of write sessions. */
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { readBootId } from '../../src/disk/process-identity.ts';
import type { ClaimJob } from '../support/claim-child.ts';

export interface Racer {
  /** Resolves with its answer; `died` if there is none. */
  send(job: ClaimJob): Promise<string>;
  end(): Promise<void>;
}

export interface ClaimStage {
  dir: string;
  startRacers(count: number): Racer[];
  close(): Promise<void>;
}

export async function openClaimStage(): Promise<ClaimStage> {
  const dir = await mkdtemp(join(tmpdir(), 'teddy-race-'));
  const entry = new URL('../support/claim-child.ts', import.meta.url).pathname;
  const outfile = join(dir, 'child.mjs');
  await build({ entryPoints: [entry], bundle: true, platform: 'node', format: 'esm', target: 'node20', outfile });
  return {
    dir,
    startRacers: (count) => Array.from({ length: count }, () => startRacer(outfile)),
    close: () => rm(dir, { recursive: true, force: true }),
  };
}

function startRacer(program: string): Racer {
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<string>((resolve) => child.on('close', () => resolve('died')));
  const waiting: ((answer: string) => void)[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(line));
  return {
    send(job) {
      child.stdin.write(`${JSON.stringify(job)}\n`);
      return Promise.race([ended, new Promise<string>((resolve) => waiting.push(resolve))]);
    },
    async end() {
      child.stdin.end();
      await ended;
    },
  };
}

const headStartMs = 15;

/** The answers in each round, sorted. In each round the claim belongs to a dead holder, a chain of them, or none. */
export async function raceForClaims(stage: ClaimStage, racers: Racer[], rounds: number): Promise<string[][]> {
  const answers: string[][] = [];
  for (let round = 0; round < rounds; round += 1) {
    const dir = await mkdtemp(join(stage.dir, 'round-'));
    const path = join(dir, 'slot.claim');
    let at = path;
    for (let dead = 0; dead < round % 4; dead += 1) at = `${path}.after-${await plantDead(at)}`;
    const startAtMs = Date.now() + headStartMs;
    const race = await Promise.all(racers.map((racer) => racer.send({ job: 'claim', path, startAtMs })));
    const left = await readdir(dir);
    await Promise.all(racers.map((racer) => racer.send({ job: 'release' })));
    answers.push([...race.toSorted(), ...left, ...(await readdir(dir)).map((name) => `left: ${name}`)]);
  }
  return answers;
}

async function plantDead(path: string): Promise<string> {
  const nonce = randomBytes(16).toString('hex');
  // No process has a number this high.
  await writeFile(path, JSON.stringify({ pid: 2 ** 30, bootId: await readBootId(), nonce }));
  return nonce;
}

export async function raceForSlot(stage: ClaimStage, racers: Racer[], rounds: number): Promise<string[][]> {
  const answers: string[][] = [];
  for (let round = 0; round < rounds; round += 1) {
    const dir = await mkdtemp(join(stage.dir, 'round-'));
    const startAtMs = Date.now() + headStartMs;
    const race = racers.map((racer) => racer.send({ job: 'begin', dir, id: randomUUID(), startAtMs }));
    answers.push([...(await Promise.all(race)).toSorted(), `${(await readdir(dir)).length} there`]);
  }
  return answers;
}
