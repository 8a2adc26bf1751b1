/** A stored request as it may be sent now: what has become a known secret since, or was stored unmasked, is masked. */
import type { Project } from '../../ports/project.ts';
import { parseContextLog } from '../../session/context-log-parse.ts';
import type { LogSection } from '../../session/context-log-sections.ts';
import { assembleLog } from '../../session/context-log.ts';

/** The very same text when there is nothing to mask. Throws DAMAGED_SESSION, MASKING_FAILED. */
export async function maskLog(project: Project, log: string): Promise<string> {
  const { frontMatter, sections } = parseContextLog(log);
  const masked = await Promise.all(sections.map((section) => maskSection(project, section)));
  const isSame = masked.every(({ body }, at) => body === sections[at]?.body);
  return isSame ? log : assembleLog(frontMatter, masked, project.hash).log;
}

async function maskSection({ masker }: Project, section: LogSection): Promise<LogSection> {
  const { text: body, count } = await masker.mask(section.body, section.path ?? undefined);
  const { provenance } = section;
  if (provenance.kind !== 'shown') return section;
  return { ...section, body, provenance: { ...provenance, masked: provenance.masked + count } };
}
