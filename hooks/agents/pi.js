/**
 * Tells teddy what pi does: an extension that `teddy capture install` puts into pi's configuration, and that runs
 * teddy/agent-hook. It prints nothing, throws nothing, and answers nothing.
 */
import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';

export default function teddy(pi) {
  for (const name of ['before_agent_start', 'agent_end', 'session_shutdown'])
    pi.on(name, async (event, context) => {
      try {
        const { sessionManager, cwd } = context;
        const payload = {
          hook_event_name: name,
          session_id: sessionManager.getSessionId?.() ?? null,
          transcript_path: sessionManager.getSessionFile() ?? null,
          cwd,
          ...(typeof event.prompt === 'string' ? { prompt: event.prompt } : {}),
        };
        const data = process.env.XDG_DATA_HOME || join(homedir(), '.local', 'share');
        spawnSync('sh', [join(data, 'teddy', 'agent-hook'), 'pi'], {
          cwd,
          input: JSON.stringify(payload),
          stdio: ['pipe', 'ignore', 'ignore'],
          timeout: 2000,
        });
      } catch {
        // The sweep finds what is missing.
      }
    });
}
