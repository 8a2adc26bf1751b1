/** Writes a report as one YAML document, and reads it back. */
import { Document, Scalar, visit } from 'yaml';
import { TeddyError, toMessage } from '../../errors.ts';
import { readPlainYaml } from '../../session/yaml/plain-yaml.ts';
import { parseReportYaml } from './report-logs.ts';
import { reportFields, type Report } from './report.ts';

/**
 * Writes keys in table order, never folds lines, and quotes strings so that reading restores them exactly. Ends with a
 * newline.
 */
export function renderReport(report: Report): string {
  // Strings that YAML 1.1 would read as another type (`yes`, dates) are quoted for readers of that version.
  const document = new Document(reportFields.read(report, []), { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  visit(document, { Scalar: (_, scalar) => chooseStyle(scalar) });
  // Without a width, the package folds nothing, and multi-line text becomes a literal block.
  return document.toString({ doubleQuotedAsJSON: true, lineWidth: 0 });
}

/** The YAML package does not restore block scalars that consist only of white space. */
function chooseStyle(scalar: Scalar): void {
  if (typeof scalar.value === 'string' && /^\s*$/.test(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE;
}

/** The inverse of `renderReport`. Drops keys that a later version may have added. Throws `DAMAGED_SESSION`. */
export function parseReport(yaml: string): Report {
  return checkReport(parseYaml(yaml));
}

/** Reads a report in the exact YAML that teddy writes, without a full YAML parser, which is large. */
export function parsePlainReport(yaml: string): Report {
  const plain = readPlainYaml(yaml);
  if (plain === null) throw damaged('it is not in the format that teddy writes');
  return checkReport(plain.value);
}

/** JSON Schema (draft 2020-12) of `report.md`, read as YAML. */
export function reportJsonSchema(): object {
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...reportFields.schema };
}

function checkReport(value: unknown): Report {
  const faults: string[] = [];
  const report = reportFields.read(value, faults);
  if (faults.length > 0) throw damaged(faults.join('; '));
  return report;
}

function parseYaml(yaml: string): unknown {
  try {
    return parseReportYaml(yaml);
  } catch (error) {
    throw damaged(toMessage(error));
  }
}

function damaged(reason: string): TeddyError {
  return new TeddyError(
    'DAMAGED_SESSION',
    `The report cannot be read: ${reason}.`,
    'It was changed after teddy wrote it. Restore `report.md` from the commit of its report entry.',
  );
}
