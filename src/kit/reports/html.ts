import { bodyText, type Exchange } from '../http/exchange.ts';
import { byChapter, countOutcomes, type Failure, type Report, type Result } from '../report.ts';
import { sectionOf, sections } from '../sections.ts';
import { escape } from './junit.ts';

const style = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { padding: .35rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid #8884; }
pre { overflow-x: auto; padding: .6rem; background: #8881; border-radius: .3rem; white-space: pre-wrap; word-break: break-all; }
code { font-size: .9em; }
.PASS { color: #188038; } .FAIL { color: #d93025; } .WARN { color: #b06000; } .SKIP { color: #777; }
td:first-child { font-weight: 600; } .id { white-space: nowrap; }
`;

/** Writes the report as one self-contained page, without scripts, fonts and other files. */
export function toHtml(report: Report): string {
  const { url, version, seed, startedAt, tookMs, results, left } = report;
  const counts = Object.entries(countOutcomes(results)).map(
    ([outcome, count]) => `<strong class="${outcome}">${count} ${outcome}</strong>`,
  );
  const remains = left.length > 0 ? `<p class="FAIL">Left behind: ${escape(left.join(', '))}</p>` : '';
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>fairlead verify ${escape(url)}</title><style>${style}</style></head><body>
<h1>fairlead verify</h1>
<p><code>${escape(url)}</code>, version ${escape(version)}, ${escape(startedAt)}, seed ${seed}, ${(tookMs / 1_000).toFixed(1)} s</p>
<p>${counts.join(' · ')}</p>${remains}
${byChapter(results)
  .map(([title, own]) => chapterOf(title, own))
  .join('\n')}
</body></html>
`;
}

function chapterOf(title: string, results: readonly Result[]): string {
  if (results.length === 0) return '';
  return `<h2>${escape(title)}</h2>\n<table>${results.map(rowOf).join('\n')}</table>`;
}

function rowOf(result: Result): string {
  const { id, level, text, outcome, because, failure } = result;
  const section = sections[sectionOf(id)];
  const why = because === undefined ? '' : `<br><small>skipped: ${escape(because)}</small>`;
  return `<tr id="${id}"><td class="${outcome}">${outcome}</td><td class="id" title="${escape(section)}">${id}<br><small>${level}</small></td><td>${markUp(text)}${why}${failure ? detailsOf(failure, result) : ''}</td></tr>`;
}

function detailsOf({ expected, exchange, curl, trail }: Failure, { repeat }: Result): string {
  const shown = exchange ? `<pre>${escape(textOf(exchange))}</pre>` : '';
  const shell = curl === undefined ? '' : `<pre>${escape(curl)}</pre>`;
  const before = trail.map(one => escape(textOf(one))).join('\n\n');
  return `<p>Expected: ${escape(expected)}</p>${shown}${shell}<pre>fairlead verify … ${escape(repeat)}</pre>
<details><summary>The last ${trail.length} exchanges</summary><pre>${before}</pre></details>`;
}

function textOf({ request, answer, error, tookMs }: Exchange): string {
  const { method, path, headers, body } = request;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const type = String(answer?.headers['content-type'] ?? '');
  const found = answer ? [`${answer.status} ${type}`, answer.text] : [`no answer (${error})`];
  return [`${method} ${path}`, ...lines, bodyText(body), `→ after ${tookMs} ms`, ...found]
    .filter(Boolean)
    .join('\n');
}

/** Marks text between backticks as code. */
function markUp(text: string): string {
  return escape(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
