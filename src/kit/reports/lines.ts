import { bodyText } from '../http/exchange.ts';
import { byChapter, countOutcomes, type Failure, type Report, type Result } from '../report.ts';

const maxBodyLength = 600;

/** Writes a result as one line, followed by the evidence of a failure. */
export function toLines(result: Result, command: string): string {
  const { id, outcome, text, because, failure, tookMs, repeat } = result;
  const line = `${outcome}  ${id.padEnd(9)} ${text}`;
  if (because !== undefined) return `${line}\n      ${outcome === 'SKIP' ? 'skipped: ' : ''}${because}`;
  if (!failure) return `${line} (${tookMs} ms)`;
  const shown = [...linesOf(failure), `repeat:   ${command} ${repeat}`];
  return [line, ...shown.map(one => `      ${one.replaceAll('\n', '\n      ')}`)].join('\n');
}

/** Writes a table with the number of outcomes in each chapter, and the verdict of the run. */
export function toSummary({ results, seed, tookMs, left, isInterrupted, url }: Report): string {
  const rows = byChapter(results).map(([title, own]) =>
    rowOf(title, Object.values(countOutcomes(own)).map(String)),
  );
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
  const found = answer ? `${answer.status} ${cut(answer.text)}` : `no answer (${error})`;
  return [
    `expected: ${expected}`,
    `request:  ${request.method} ${request.path}${request.body === undefined ? '' : ` ${cut(bodyText(request.body))}`}`,
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
