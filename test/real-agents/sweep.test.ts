import { cp, rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { longText } from '../support/agent-model-server.ts';
import { openCapturedProject, type CapturedProject } from '../support/captured-project.ts';
import { requireAgent } from '../support/real-agent.ts';
import { openScratchRepository } from '../support/scratch-repository.ts';
import { startTeddy } from '../support/run-teddy.ts';

const agent = requireAgent();

/** The transcripts of every line, by their paths: code snapshots come only with hooks. */
async function transcriptsOf(repo: CapturedProject['repo']): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const refs = await repo.git('for-each-ref', '--format=%(refname)', 'refs/heads/teddy');
  for (const ref of refs.split('\n')) {
    const paths = (await repo.git('ls-tree', '-r', '--name-only', ref, '.teddy/sessions')).split('\n');
    for (const path of paths.filter((name) => name.endsWith('transcript.jsonl')))
      found[`${ref} ${path}`] = await repo.git('show', `${ref}:${path}`);
  }
  return found;
}

// opencode keeps no log.
test.skipIf(agent.name === 'opencode')(
  `without the hooks, a sweep makes the same entries for ${agent.name} ${agent.version}`,
  async () => {
    const project = await openCapturedProject(agent);
    // The same repository before the agent's run; the logs name the folder in which they began.
    const copy = `${project.home}/before`;
    await cp(project.repo.root, copy, { recursive: true });
    project.model.script('K1', [{ says: 'say-01', runs: 'echo call-01 | sed s/call/out/' }, { says: 'say-02' }]);
    project.model.script('K2', [{ says: 'say-03' }]);
    project.model.script('K3', [{ says: `say-04 ${longText}`, chunkDelayMs: 60 }]);
    await project.run({ prompt: 'K1 ask-01' }).result;
    const [log] = await agent.logs(project.home);
    await project.run({ prompt: 'K2 ask-02', resume: log?.id ?? '' }).result;
    // pi has no log before its first answer is complete, so that only a hook knows of one that was cut off.
    if (agent.name !== 'pi') {
      const cut = project.run({ prompt: 'K3 ask-03' });
      await project.model.waitForRequests('K3', 1);
      cut.kill('SIGINT');
      await cut.result;
    }
    await project.settle();
    await project.teddy('capture', 'sweep');
    const hooked = await transcriptsOf(project.repo);
    await project.expectAllOnce();
    // The copy replaces the repository.
    await rm(project.repo.root, { recursive: true });
    await cp(copy, project.repo.root, { recursive: true });
    const env = { HOME: project.home, XDG_DATA_HOME: undefined };
    const swept = await startTeddy(['capture', 'sweep', '--since', '7d'], { cwd: project.repo.root, env }).result;
    expect(swept.exitCode).toBe(0);
    expect(await transcriptsOf(openScratchRepository(project.repo.root))).toEqual(hooked);
    await project.close();
  },
);
