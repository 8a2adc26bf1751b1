/** Finds what a forge, or a clone that mirrors, may do to shared sessions, and landed branches that nobody put away. */
import type { Project } from '../../ports/project.ts';
import { archiveRef, globalRef, mainLineRef, shortRef, type Oid, type SessionId } from '../../names.ts';
import { entryMs } from '../../session/entries/logged-entry.ts';
import { findLandings } from '../../session/lines/landing.ts';
import { readDefaultBranches } from '../../session/lines/lines.ts';
import { hasLandedAsItStands } from '../line/find-open.ts';
import { moveRefs } from '../line/move-refs.ts';
import { count, type Examination, type Found } from './finding.ts';

/** A landed branch that is older than this is hardly needed any more. */
const oldMs = 30 * 86_400_000;

/** Finds remotes to which a `git push` deletes what this clone does not know, such as other people's sessions. */
export const findMirrors: Examination = async ({ project: { repository } }) => {
  const names = await repository.remotes.names();
  const isMirror = async (name: string) => (await repository.store.setting(`remote.${name}.mirror`)) === 'true';
  const flags = await Promise.all(names.map(isMirror));
  const found = names.filter((_, at) => flags[at]);
  return {
    found: found.map((name): Found => ({
      kind: 'mirror-remote',
      thing: name,
      meaning: `\`git push ${name}\` deletes everything there that this clone does not have, including the sessions of others, because remote.${name}.mirror is set. \`teddy push\` never deletes.`,
      todo: `Unless this clone is the only source of ${name}: \`git config --unset remote.${name}.mirror\`.`,
    })),
    seen: names.length === 0 ? null : count(names.length, 'remote'),
  };
};

/**
 * Finds sessions whose code has landed and whose turns are here without any ref, as after a forge deleted the merged
 * branch and a fetch pruned it. git's next cleanup would remove them.
 */
export const findUnkept: Examination = async ({ project, refs, lines }) => {
  const { store } = project.repository;
  // Every ref of a session ends with its id, or with the name of one of its conversation branches.
  const ofRefs = refs.map(
    ({ ref }) =>
      ref
        .split('/')
        .at(-1)
        ?.replace(/--\d{2,}-branch-\d{2,}$/, '') ?? '',
  );
  const kept = new Set<string>([...ofRefs, ...lines.map(({ session }) => session)]);
  const newest = new Map<SessionId, Oid>();
  for (const { ref, oid } of await readDefaultBranches(project)) {
    if (ref === globalRef) continue;
    // Newest first.
    for (const { session, tip } of await findLandings(store, oid, null))
      if (!newest.has(session) && !kept.has(session)) newest.set(session, tip);
  }
  const sizes = await Promise.all([...newest.values()].map((tip) => store.readSize(tip)));
  const found = [...newest].filter((_, at) => sizes[at] !== null);
  return { found: found.map(([session, tip]) => toUnkept(project, session, tip)), seen: null };
};

function toUnkept(project: Project, session: SessionId, tip: Oid): Found {
  const archive = archiveRef(mainLineRef(session));
  return {
    kind: 'unkept-session',
    thing: session,
    meaning: `${session} has landed, but no branch and no archive keeps its turns, so git's next cleanup removes them.`,
    fix: `keeps them under ${archive}`,
    async repairFinding() {
      const isKept = await moveRefs(project, [{ ref: archive, old: null, new: tip }], 'kept');
      return isKept ? `They are kept under ${archive}.` : 'Another process has kept them in the meantime.';
    },
  };
}

/** Counts local branches that landed long ago, which clutter every list and every push. */
export const findOldLanded: Examination = async ({ project, lines }) => {
  const now = project.clock.now().getTime();
  const old = lines.filter(
    ({ remote, isArchived, isMain, nearest }) =>
      remote === null && !isArchived && isMain && now - entryMs(nearest.entry) > oldMs,
  );
  const flags = await Promise.all(old.map((line) => hasLandedAsItStands(project, line)));
  const landed = old.filter((_, at) => flags[at]);
  if (landed.length === 0) return { found: [], seen: null };
  const [first] = landed;
  const what = landed.length === 1 && first !== undefined ? shortRef(first.ref) : count(landed.length, 'session');
  return {
    found: [],
    seen: null,
    notes: [`${what} landed more than 30 days ago. To put old sessions away: teddy archive --landed --older 30d`],
  };
};
