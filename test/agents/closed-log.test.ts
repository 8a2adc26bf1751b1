/** A log that is written for another agent has the same contents when it is followed. */
import { expect, test } from 'vitest';
import type { ImportUnit } from '../../src/conversation/logs/importer.ts';
import { openLog, readAgentLogs, readSteps, unitsOf } from '../support/agent-logs.ts';
import { importLines, importText } from '../support/import-source.ts';

/** The words of people, models and tools, by branch: notes may be elsewhere, and a plan is in its call. */
function said(units: readonly ImportUnit[]): string[] {
  return units
    .flatMap(({ branch = 0, records }) =>
      records
        .filter(({ type }) => type !== 'note' && type !== 'plan')
        .map((record) => `${branch} ${JSON.stringify(record).replace('"source":"capture"', '"source":"import"')}`),
    )
    .toSorted();
}

test.each(readAgentLogs())('a log of $agent ($name)', ({ agent, lines }) => {
  const reader = openLog(agent);
  const steps = readSteps(reader, lines);
  reader.end();
  steps.push(...reader.take());
  const imported = importLines(
    agent,
    lines.map(({ text }) => text ?? ''),
  );
  expect(said(imported.units)).toEqual(said(unitsOf(steps)));
  expect(imported.title).toBe(reader.head().title);
});

test('a document that opencode has exported is read like its lines', () => {
  const info = { id: 'ses_1', directory: '/home/ada/shop', title: 'Routes', time: { created: 1_769_248_800_000 } };
  const messages = ['user', 'assistant'].map((role) => ({
    info: { id: `msg_${role}`, sessionID: 'ses_1', role, time: { created: 1_769_248_800_000 } },
    parts: [{ id: `prt_${role}`, type: 'text', text: `I am the ${role}. ${'x'.repeat(900)}` }],
  }));
  const lines = importLines('opencode', [{ session: info }, ...messages]);
  const document = importText('opencode', JSON.stringify({ info, messages }, null, 2));
  expect(document.title).toBe('Routes');
  const texts = ({ units }: typeof lines) =>
    units.flatMap(({ records }) =>
      records.flatMap((record) => ('message' in record && 'content' in record.message ? record.message.content : [])),
    );
  expect(texts(document)).toEqual(texts(lines));
  expect(texts(document)).toHaveLength(2);
});
