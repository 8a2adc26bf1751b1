import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { Oid, RefName, SessionId } from '../../../src/names.ts';
import { listQuestions, toStanding, type Standing } from '../../../src/workflow/sharing/reconcile.ts';
import type { SharedTips } from '../../../src/workflow/sharing/shared-refs.ts';
import { runs } from '../../support/runs.ts';
import { propertyTest } from '../../support/slow-test.ts';

/** Commits as paths: `ab` comes after `a`, and `ac` forks from it. */
const contains = (tip: Oid, commit: Oid) => tip.startsWith(commit);

type Tips = Partial<Record<'local' | 'remote' | 'known' | 'here' | 'there', string | undefined>>;

function tipsOf({ local, remote, known, here, there }: Tips): SharedTips {
  const ref = 'refs/heads/teddy/20260124-add-login' as RefName;
  const toOid = (text: string | undefined) => (text ?? null) as Oid | null;
  return {
    ref,
    kind: 'line',
    session: '20260124-add-login' as SessionId,
    local: toOid(local),
    remote: toOid(remote),
    known: toOid(known),
    archived: { local: toOid(here), remote: toOid(there) },
    renamed: [],
  };
}

describe('a line here and on the remote', () => {
  propertyTest.each<[Standing, Tips]>([
    ['same', { local: 'a', remote: 'a', known: 'a' }],
    ['push', { local: 'ab', remote: 'a' }],
    ['pull', { local: 'a', remote: 'ab' }],
    ['diverged', { local: 'ab', remote: 'ac', known: 'a' }],
    ['only-local', { local: 'a' }],
    ['only-remote', { remote: 'a' }],
    ['only-remote', { remote: 'a', known: 'a' }],
    // The local archive has it, whether or not the remote's branch was ever fetched here.
    ['archived-here', { remote: 'a', known: 'a', here: 'ab' }],
    ['archived-here', { remote: 'a', here: 'a' }],
    ['only-remote', { remote: 'ab', known: 'a', here: 'a' }],
    ['only-remote', { remote: 'ab', here: 'ac', there: 'ac' }],
    // Only commits older than the archive there were certainly archived: a landing makes an archive as well.
    ['archived-here', { remote: 'a', there: 'ab' }],
    ['only-remote', { remote: 'a', there: 'a' }],
    ['only-remote', { remote: 'ab', there: 'a' }],
    ['archived-there', { local: 'a', known: 'a', there: 'a' }],
    ['archived-there', { local: 'a', there: 'a' }],
    // It was restored, and nothing was added since.
    ['archived-there', { local: 'a', here: 'a', there: 'a' }],
    ['archived-there', { local: 'a', here: 'a', there: 'ab' }],
    // No archive has the commits that were added here since.
    ['only-local', { local: 'ab', known: 'a', there: 'a' }],
    ['only-local', { local: 'ab', there: 'ac' }],
    ['gone', { local: 'a', known: 'a' }],
    ['gone', { local: 'a', known: 'ab' }],
    ['only-local', { local: 'ab', known: 'a' }],
  ])('is %s with %j', (standing, tips) => {
    expect(toStanding(tipsOf(tips), contains)).toBe(standing);
  });

  const tip = fc.option(fc.stringMatching(/^a[bc]{0,3}$/), { nil: undefined });
  const anyTips = fc.record({ local: tip, remote: tip, known: tip, here: tip, there: tip });

  propertyTest('queries only listed commits, and decides nothing that would lose a commit', () => {
    fc.assert(
      fc.property(anyTips, (given) => {
        const tips = tipsOf(given);
        const asked = listQuestions(tips).map((one) => `${one.tip} ${one.commit}`);
        const standing = toStanding(tips, (one, commit) => {
          if (one !== commit) expect(asked).toContain(`${one} ${commit}`);
          return contains(one, commit);
        });
        const { local, remote, here, there } = given;
        // A branch is deleted only if its archive has all of it, and moves only to a descendant.
        if (standing === 'archived-there') expect(there?.startsWith(local ?? '-')).toBe(true);
        if (standing === 'archived-here')
          expect([here, there].some((archive) => archive?.startsWith(remote ?? '-'))).toBe(true);
        if (standing === 'pull') expect(remote?.startsWith(local ?? '-')).toBe(true);
        if (standing === 'push') expect(local?.startsWith(remote ?? '-')).toBe(true);
        if (standing === 'same') expect(local).toBe(remote);
      }),
      runs(100),
    );
  });
});
