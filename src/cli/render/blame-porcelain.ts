/** Prints the commits that teddy finds as `git blame --porcelain` does, with extra rows that readers of that format ignore. */
import type { Project } from '../../ports/project.ts';
import type { Oid } from '../../names.ts';
import type { BlamedFile } from '../../workflow/blame/blame-file.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import { quoteDiffName } from '../../plan/match/diff.ts';

const zeros = '0'.repeat(40);

export async function renderPorcelain(
  { repository: { store } }: Project,
  { runs, turns, commit: asked, path }: BlamedFile,
): Promise<string> {
  const told = new Set<string>();
  const rows: string[] = [];
  const describe = async (oid: Oid | null): Promise<string[]> => {
    if (oid === null) return describeNobody();
    const { author, committer, message, parents } = await store.readCommit(oid);
    return [
      ...describePerson('author', author),
      ...describePerson('committer', committer),
      `summary ${message.split('\n', 1)[0] ?? ''}`,
      ...(parents.length === 0 ? ['boundary'] : []),
    ];
  };
  for (const { author, line, originalLine, path: file, texts, uncommitted } of runs) {
    const oid = author.kind === 'uncommitted' ? null : author.commit;
    const name = oid ?? zeros;
    const key = `${name} ${author.kind} ${uncommitted ?? ''}`;
    for (const [at, text] of texts.entries()) {
      rows.push([name, originalLine + at, line + at, ...(at === 0 ? [texts.length] : [])].join(' '));
      if (at === 0 && !told.has(key)) {
        told.add(key);
        rows.push(...(await describe(oid)), `teddy-author ${author.kind}`);
        if (author.kind === 'turn') {
          const model = turns.get(author.commit)?.model ?? null;
          rows.push(`teddy-session ${author.session}`, `teddy-turn ${author.turn}`);
          if (model !== null) rows.push(`teddy-model ${toVisible(model).replaceAll('\n', ' ')}`);
        }
        if ('byContent' in author && author.byContent) rows.push('teddy-by-content');
        if ('byNote' in author && author.byNote !== null) rows.push(`teddy-by-note ${author.byNote}`);
        if (uncommitted) rows.push('teddy-uncommitted');
      }
      if (at === 0)
        rows.push(`filename ${quoteDiffName(author.kind === 'uncommitted' && asked === null ? path : file)}`);
      rows.push(`\t${text}`);
    }
  }
  return rows.map((row) => `${row}\n`).join('');
}

function describePerson(role: 'author' | 'committer', ident: string): string[] {
  const [, name = ident, email = '', seconds = '0', zone = '+0000'] =
    /^(.*?) <([^>]*)> (\d+) ([+-]\d{4})$/.exec(ident) ?? [];
  return [`${role} ${name}`, `${role}-mail <${email}>`, `${role}-time ${seconds}`, `${role}-tz ${zone}`];
}

function describeNobody(): string[] {
  const now = String(Math.floor(Date.now() / 1000));
  return ['author', 'committer']
    .flatMap((role) => [
      `${role} Not Committed Yet`,
      `${role}-mail <not.committed.yet>`,
      `${role}-time ${now}`,
      `${role}-tz +0000`,
    ])
    .concat('summary Not committed yet');
}
