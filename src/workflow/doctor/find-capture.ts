/** Checks what captures sessions of other agents, where it is on: the spool, and the hooks in the user's configuration. */
import type { AgentSetup } from '../../ports/agent-setup.ts';
import type { Project } from '../../ports/project.ts';
import type { Examination, Found } from './finding.ts';

/** A drainer starts at once when a hook calls. */
const lateAfterSeconds = 60;

export const findCapture: Examination = async ({ project, agents }) => {
  const isSet = (await project.settings.find('capture')).value === 'true';
  const spool = await project.spool.look();
  if (!isSet && !spool.exists) return { found: [], seen: null };
  return {
    found: [...(await findSpool(project, isSet)), ...(agents === null ? [] : await findHooks(agents))],
    seen: 'capture',
  };
};

async function findSpool({ spool, clock }: Project, isSet: boolean): Promise<Found[]> {
  const { exists, paused, drainer, waiting } = await spool.look();
  if (exists !== isSet)
    return [
      toFound(
        spool.dir,
        exists
          ? 'Hooks note their calls here, but teddy.capture is not set.'
          : 'teddy.capture is set, but the spool is missing, so hooks note nothing.',
        exists ? '`teddy capture install`, or `teddy capture uninstall`.' : '`teddy capture install`.',
      ),
    ];
  const oldest = Math.min(...waiting.map((one) => one.oldest));
  if (drainer !== null || oldest > clock.now().getTime() / 1000 - lateAfterSeconds) return [];
  const meaning = `What hooks have noted waits, and nothing reads it${paused ? ': capture is paused' : ''}.`;
  return [toFound(spool.dir, meaning, paused ? '`teddy capture resume`.' : '`teddy capture sweep`.')];
}

async function findHooks(setup: AgentSetup): Promise<Found[]> {
  const [agents, script] = await Promise.all([setup.list(), setup.script()]);
  const installed = agents.filter(({ hooks }) => hooks === 'installed' || hooks === 'changed');
  if (installed.length === 0) return [];
  const isGone = script.state === 'missing' || script.state === 'broken';
  const meaning =
    script.state === 'missing'
      ? 'The script that the hooks of agents run is missing, so nothing is captured.'
      : 'The program that the hooks of agents start is gone, so what they note is not read.';
  return [
    ...(isGone ? [toFound(script.path, meaning, '`teddy capture install`.')] : []),
    ...installed.flatMap(({ title, path, hooks, trusted, problem }) => [
      ...(hooks === 'changed'
        ? [toFound(path, `Some hooks of ${title} are missing or were changed.`, '`teddy capture install`.')]
        : []),
      ...(trusted === false
        ? [
            toFound(
              path,
              `${title} does not run the hooks until you trust them.`,
              'Start it, and answer `/hooks` once.',
            ),
          ]
        : []),
      ...(problem === null ? [] : [toFound(path, problem, 'Change that there.')]),
    ]),
  ];
}

function toFound(thing: string, meaning: string, todo: string): Found {
  return { kind: 'capture', thing, meaning, todo };
}
