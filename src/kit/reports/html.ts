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
${chapterTable(results)}
${faultsFirst(results)}
${byChapter(results)
  .map(([title, own]) => chapterOf(title, own))
  .join('\n')}
</body></html>
`;
}

/** Writes the number of outcomes in each chapter, with links to the chapters. */
function chapterTable(results: readonly Result[]): string {
  const rows = byChapter(results)
    .filter(([, own]) => own.length > 0)
    .map(([title, own]) => {
      const cells = Object.entries(countOutcomes(own)).map(
        ([outcome, count]) => `<td${count > 0 ? ` class="${outcome}"` : ''}>${count}</td>`,
      );
      return `<tr><td><a href="#chapter-${title.charAt(0)}">${escape(title)}</a></td>${cells.join('')}</tr>`;
    });
  const head = ['chapter', 'PASS', 'FAIL', 'WARN', 'SKIP'].map(name => `<th>${name}</th>`).join('');
  return `<table><tr>${head}</tr>\n${rows.join('\n')}</table>`;
}

/** Writes the requirements that do not hold with their evidence, the MUSTs first; empty if all hold. */
function faultsFirst(results: readonly Result[]): string {
  const faults = ['FAIL', 'WARN'].flatMap(wanted => results.filter(({ outcome }) => outcome === wanted));
  if (faults.length === 0) return '';
  return `<h2>Does not hold</h2>\n<table>${faults.map(one => rowOf(one, true)).join('\n')}</table>`;
}

function chapterOf(title: string, results: readonly Result[]): string {
  if (results.length === 0) return '';
  const rows = results.map(one => rowOf(one, false)).join('\n');
  return `<h2 id="chapter-${title.charAt(0)}">${escape(title)}</h2>\n<table>${rows}</table>`;
}

/** Writes a result as a row. The evidence stands in the list of faults, and the row in the chapter links to it. */
function rowOf(result: Result, isFault: boolean): string {
  const { id, level, text, outcome, because, failure } = result;
  const section = sections[sectionOf(id)];
  const reason = outcome === 'SKIP' ? `skipped: ${because}` : because;
  const why = reason === undefined ? '' : `<br><small>${escape(reason)}</small>`;
  const shownId = !isFault && failure ? `<a href="#fault-${id}">${id}</a>` : id;
  const evidence = isFault && failure ? detailsOf(failure, result) : '';
  return `<tr id="${isFault ? `fault-${id}` : id}"><td class="${outcome}">${outcome}</td><td class="id" title="${escape(section)}">${shownId}<br><small>${level}</small></td><td>${markUp(text)}${why}${evidence}</td></tr>`;
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
