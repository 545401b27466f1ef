import { countOutcomes, type Failure, type Report, type Result } from '../report.ts';
import { chapters, sectionOf } from '../sections.ts';

/** Characters of a body that are shown. */
const maxBodyLength = 600;

/** Writes a result as one line, followed by the evidence of a failure. */
export function toLines(result: Result, command: string): string {
  const { id, outcome, text, because, failure, tookMs, repeat } = result;
  const line = `${outcome}  ${id.padEnd(9)} ${text}`;
  if (outcome === 'SKIP') return `${line}\n      skipped: ${because}`;
  if (!failure) return `${line} (${tookMs} ms)`;
  const shown = [...linesOf(failure), `repeat:   ${command} ${repeat}`];
  return [line, ...shown.map(one => `      ${one.replaceAll('\n', '\n      ')}`)].join('\n');
}

/** Writes a table with the number of outcomes in each chapter, and the verdict of the run. */
export function toSummary({ results, seed, tookMs, left, isInterrupted, url }: Report): string {
  const rows = Object.entries(chapters).map(([number, title]) => {
    const counts = countOutcomes(results.filter(({ id }) => sectionOf(id).startsWith(`${number}.`)));
    return rowOf(`${number} ${title}`, Object.values(counts).map(String));
  });
  const table = [rowOf('chapter', ['PASS', 'FAIL', 'WARN', 'SKIP']), ...rows];
  const { FAIL: failed } = countOutcomes(results);
  const verdict = isInterrupted
    ? 'interrupted'
    : failed > 0
      ? `${failed} ${failed === 1 ? 'requirement does' : 'requirements do'} not hold`
      : 'all checked requirements hold';
  const remains = left.length > 0 ? [`left behind, please remove by hand: ${left.join(', ')}`] : [];
  return [
    ...table,
    '',
    ...remains,
    `${url}: ${verdict} (seed ${seed}, ${(tookMs / 1_000).toFixed(1)} s)`,
  ].join('\n');
}

function linesOf({ expected, exchange, curl }: Failure): readonly string[] {
  if (!exchange) return [`expected: ${expected}`];
  const { request, answer, error } = exchange;
  const body = typeof request.body === 'object' ? request.body.join('') : request.body;
  const found = answer ? `${answer.status} ${cut(answer.text)}` : `no answer (${error})`;
  return [
    `expected: ${expected}`,
    `request:  ${request.method} ${request.path}${body === undefined ? '' : ` ${cut(body)}`}`,
    `answer:   ${found}`,
    ...(curl === undefined ? [] : [`curl:     ${curl}`]),
  ];
}

function cut(text: string): string {
  return text.length <= maxBodyLength ? text : `${text.slice(0, maxBodyLength)}…`;
}

function rowOf(title: string, cells: readonly string[]): string {
  return title.padEnd(30) + cells.map(cell => cell.padStart(6)).join('');
}
