/** Writes a report as one YAML document, and reads it back. */
import { Document, Scalar, visit } from 'yaml';
import { TeddyError, toMessage } from '../../errors.ts';
import { readPlainYaml } from '../../session/yaml/plain-yaml.ts';
import { parseReportYaml } from './report-logs.ts';
import { reportFields, type Report } from './report.ts';

/** Keys stand in the order of the table, lines are never folded, and every string is read back exactly. Ends with a newline. */
export function renderReport(report: Report): string {
  // Strings that YAML 1.1 takes for something else (`yes`, dates) are quoted for readers of that version.
  const document = new Document(reportFields.read(report, []), { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  visit(document, { Scalar: (_, scalar) => chooseStyle(scalar) });
  // Without a width nothing is folded, and text of several lines is a literal block.
  return document.toString({ doubleQuotedAsJSON: true, lineWidth: 0 });
}

/** Blocks of white space alone do not survive the YAML package. */
function chooseStyle(scalar: Scalar): void {
  if (typeof scalar.value === 'string' && /^\s*$/.test(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE;
}

/** The inverse of `renderReport`. Keys that a later version may have added are left out. Throws `DAMAGED_SESSION`. */
export function parseReport(yaml: string): Report {
  return checkReport(parseYaml(yaml));
}

/** The same of a report in the YAML that teddy writes, without the parser of any YAML, which is large. */
export function parsePlainReport(yaml: string): Report {
  const plain = readPlainYaml(yaml);
  if (plain === null) throw damaged('it is not in the form that teddy writes');
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
