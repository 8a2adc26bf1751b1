/**
 * A repository in which each line's author is known: a line is written once, and remembered with its author. Lines that
 * many people write, such as a brace, have all of these as authors.
 */
import { expect } from 'vitest';
import { openProject } from '../../src/app.ts';
import { TeddyError } from '../../src/errors.ts';
import type { Project } from '../../src/ports/project.ts';
import { attributeLines, type Author } from '../../src/workflow/blame/attribute-lines.ts';
import { archiveSession } from '../../src/workflow/landing/archive-session.ts';
import { landSession } from '../../src/workflow/landing/land-session.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { undoTurn } from '../../src/workflow/turn/undo.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../../src/names.ts';
import { makeScratchRepository, type ScratchRepository } from './scratch-repository.ts';
import { planOf, run, say } from './turns.ts';

/** How a text is changed: `at` and `count` are places and lengths in thousandths of the text. */
export interface TextChange {
  at: number;
  count: number;
  added: number;
  withBraces: boolean;
}

export interface AuthoredRepository {
  repo: ScratchRepository;
  project: Project;
  /** The current session; null if there is none. */
  session: SessionId | null;
  /** The files in the work tree, without `.teddy`. */
  files(): Promise<string[]>;
  begin(name: string): Promise<SessionId>;
  /** A turn that gives the file other content. */
  turn(path: string, change: TextChange): Promise<void>;
  /** The person's own uncommitted edit. */
  edit(path: string, change: TextChange): Promise<void>;
  commit(message: string): Promise<void>;
  rename(path: string, to: string): Promise<void>;
  undo(): Promise<void>;
  /** False if it could not be landed. */
  land(): Promise<boolean>;
  /** Merges like a forge, with one commit that has this message. False if there was a conflict. */
  squash(message: string): Promise<boolean>;
  /**
   * Merges like a forge: `merge` with a merge commit, `rebase` with all commits rewritten. False if there was a
   * conflict.
   */
  integrate(how: 'merge' | 'rebase'): Promise<boolean>;
  archive(): Promise<void>;
  /** Expects each line in each file to be its author's, or unknown; returns how many of how many are unknown. */
  expectTruth(revision?: string): Promise<{ unknown: number; all: number }>;
  close(): Promise<void>;
}

const person = 'person';

export async function openAuthoredRepository(): Promise<AuthoredRepository> {
  const authors = new Map<string, Set<string>>();
  let written = 0;
  const write = (author: string, count: number, withBraces: boolean): string[] =>
    Array.from({ length: count }, (_, at) => {
      const text = withBraces && at % 3 === 2 ? '}' : `  line ${(written += 1)} of ${author.replaceAll(' ', '-')};`;
      authors.set(text, (authors.get(text) ?? new Set()).add(author));
      return text;
    });
  const render = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');
  const repo = await makeScratchRepository({
    'a.txt': render(write(person, 12, true)),
    'src/b.txt': render(write(person, 6, false)),
  });
  const notices = { info: () => undefined, warn: () => undefined };
  const project = await openProject({ cwd: repo.root, env: process.env, notices });

  const change = async (author: string, path: string, { at, count, added, withBraces }: TextChange) => {
    const lines = (await repo.read(path).catch(() => '')).split('\n').slice(0, -1);
    const from = Math.floor((lines.length * at) / 1000);
    const length = Math.floor((lines.length * count) / 1000);
    lines.splice(from, length, ...write(author, added, withBraces));
    return render(lines);
  };
  const nextTurn = async (session: SessionId) => {
    const dirs = await repo.list(`.teddy/sessions/${session}`);
    return String(dirs.filter((name) => /^\d+$/.test(name)).length + 1).padStart(2, '0');
  };
  const toMain = async () => void (await repo.git('switch', '--quiet', 'main'));
  const branch = () => `teddy/${authored.session}`;

  const authored: AuthoredRepository = {
    repo,
    project,
    session: null,
    files: async () => (await repo.git('ls-files', '--', ':!.teddy')).split('\n').filter((path) => path !== ''),
    async begin(name) {
      const { session } = await newSession(project, { name, switch: true });
      authored.session = session;
      return session;
    },
    async turn(path, wanted) {
      const { session } = authored;
      if (session === null) throw new Error('There is no session.');
      const content = await change(`${session} ${await nextTurn(session)}`, path, wanted);
      const action = `### CREATE\n- **File Path:** ${path}\n- **Overwrite:** true\n\n\`\`\`\`\`\n${content}\`\`\`\`\`\n`;
      await say(project, `Change ${path}`, planOf([action]));
      const { report } = (await run(project)) as { report: { run_summary: { status: string } } };
      expect(report.run_summary.status).toBe('SUCCESS');
    },
    async edit(path, wanted) {
      await repo.write(path, await change(person, path, wanted));
      // An untracked file would be the turn's if the turn rewrote it.
      await repo.git('add', '--', path);
    },
    async commit(message) {
      await repo.git('add', '--all');
      if (!(await repo.gitSucceeds('diff', '--cached', '--quiet'))) await repo.git('commit', '--quiet', '-m', message);
    },
    async rename(path, to) {
      if ((await authored.files()).includes(to)) return;
      await repo.git('mv', path, to);
      await repo.git('commit', '--quiet', '-m', `Rename ${path}`);
    },
    async undo() {
      await undoTurn(project, {}).catch(passOver('NOTHING_TO_UNDO', 'FILE_MODIFIED'));
    },
    async land() {
      await toMain();
      if (authored.session === null) return false;
      const landed = await landSession(project, { target: authored.session, withOwnEdits: true }).catch(
        passOver('NOTHING_TO_LAND', 'LAND_CONFLICT'),
      );
      return landed !== undefined;
    },
    async squash(message) {
      const line = branch();
      await toMain();
      if (!(await repo.gitSucceeds('merge', '--squash', '--quiet', line))) {
        await repo.git('reset', '--quiet', '--merge');
        return false;
      }
      await repo.git('rm', '--quiet', '-r', '--cached', '--force', '--ignore-unmatch', '.teddy');
      await repo.git('clean', '--quiet', '-fd', '.teddy');
      if (await repo.gitSucceeds('diff', '--cached', '--quiet')) return false;
      await repo.git('commit', '--quiet', '-m', message);
      return true;
    },
    async integrate(how) {
      const line = branch();
      await toMain();
      if (how === 'merge') {
        if (await repo.gitSucceeds('merge', '--quiet', '--no-ff', '--no-edit', line)) return true;
        await repo.git('merge', '--abort').catch(() => undefined);
        return false;
      }
      if (await repo.gitSucceeds('cherry-pick', '--keep-redundant-commits', '--allow-empty', `main..${line}`))
        return true;
      await repo.git('cherry-pick', '--abort').catch(() => undefined);
      return false;
    },
    async archive() {
      await toMain();
      if (authored.session !== null) await archiveSession(project, authored.session);
      authored.session = null;
    },
    async expectTruth(revision) {
      let [unknown, all] = [0, 0];
      const commit = revision === undefined ? null : await project.repository.store.resolve(revision);
      const listed = revision === undefined ? await authored.files() : await listAt(repo, revision);
      for (const path of listed) {
        const text = revision === undefined ? await repo.read(path) : await repo.git('show', `${revision}:${path}`);
        if (text === '') continue;
        const query = { path: path as RepoPath, commit: commit as Oid | null, ranges: [] };
        const { runs } = await attributeLines({ repository: project.repository }, query);
        for (const run of runs)
          for (const line of run.texts) {
            all += 1;
            if (run.author.kind === 'unknown') unknown += 1;
            else expect([...(authors.get(line) ?? [])], `${path}: ${line}`).toContain(nameOf(run.author));
          }
      }
      return { unknown, all };
    },
    async close() {
      await project.repository.close();
      await repo.close();
    },
  };
  return authored;
}

async function listAt(repo: ScratchRepository, revision: string): Promise<string[]> {
  const paths = (await repo.git('ls-tree', '-r', '--name-only', revision)).split('\n');
  return paths.filter((path) => path !== '' && !path.startsWith('.teddy/'));
}

function nameOf(author: Author): string {
  return author.kind === 'turn' ? `${author.session} ${author.turn satisfies TurnName}` : person;
}

/** With these results, the attempted step is not possible now. */
function passOver(...codes: string[]): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof TeddyError) || !codes.includes(error.code)) throw error;
    return undefined;
  };
}
