import { byChapter, countOutcomes, type Report, type Result } from '../report.ts';

/** Writes the report as JUnit XML with one suite for each chapter. A WARN becomes a skipped test with its message. */
export function toJunit({ results, startedAt, tookMs, seed, url }: Report): string {
  const suites = byChapter(results).flatMap(([title, own]) =>
    own.length === 0 ? [] : [suiteOf(title, own)],
  );
  const { FAIL: failures } = countOutcomes(results);
  const head = attributes({
    name: `fairlead verify ${url}`,
    tests: results.length,
    failures,
    time: tookMs / 1_000,
  });
  const properties = `<properties><property ${attributes({ name: 'seed', value: seed })}/><property ${attributes({ name: 'startedAt', value: startedAt })}/></properties>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${head}>${properties}\n${suites.join('\n')}\n</testsuites>\n`;
}

function suiteOf(name: string, results: readonly Result[]): string {
  const { FAIL: failures, SKIP: skips, WARN: warnings } = countOutcomes(results);
  const head = attributes({ name, tests: results.length, failures, skipped: skips + warnings });
  return `<testsuite ${head}>\n${results.map(caseOf).join('\n')}\n</testsuite>`;
}

function caseOf({ id, text, outcome, because, failure, repeat, tookMs }: Result): string {
  const head = attributes({ classname: id, name: `${id} ${text}`, time: tookMs / 1_000 });
  const { expected = '', exchange, curl = '' } = failure ?? {};
  const answer = exchange?.answer?.text ?? exchange?.error ?? '';
  const details = escape([`expected: ${expected}`, `answer: ${answer}`, curl, repeat].join('\n'));
  const inner = {
    PASS: '',
    FAIL: `<failure ${attributes({ message: expected })}>${details}</failure>`,
    WARN: `<skipped ${attributes({ message: `WARN: ${because ?? expected}` })}/>`,
    SKIP: `<skipped ${attributes({ message: because ?? '' })}/>`,
  }[outcome];
  return inner === '' ? `<testcase ${head}/>` : `<testcase ${head}>${inner}</testcase>`;
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${escape(String(value))}"`)
    .join(' ');
}

/** Escapes text for XML and HTML, and leaves out control characters, which XML cannot hold. */
export function escape(text: string): string {
  const named: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  const control = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
  return text.replaceAll(control, '').replaceAll(/[&<>"]/g, letter => named[letter] ?? letter);
}
