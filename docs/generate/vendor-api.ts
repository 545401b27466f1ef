import { readFileSync } from 'node:fs';
import { vendorOperations } from '../../src/api/operations.ts';
import { requirementIds, requirementOf } from '../../src/kit/requirements.ts';
import { toLink, vendorBodies } from './api.ts';
import { chapters, sectionOf, sections } from '../../src/kit/sections.ts';

/** Renews the lists in docs/reference/vendor-api.md from the tables of operations and requirements. */
export function vendorApi(): string {
  const text = readFileSync(new URL('../reference/vendor-api.md', import.meta.url), 'utf8');
  const parts = text.split(/(<!-- generated: [\w ]+ -->\n)[^]*?(?=<!-- end -->)/);
  return parts.map((part, index) => (index % 2 === 0 ? part : `${part}${toList(part)}\n`)).join('');
}

/** Writes the list behind a mark: the operations, the bodies, or the requirements of the chapter that the mark names. */
function toList(mark: string): string {
  if (mark.includes('bodies')) return vendorBodies();
  const chapter = /chapter (\d)/.exec(mark)?.[1];
  return chapter === undefined ? operations() : chapterOf(chapter);
}

function operations(): string {
  const rows = vendorOperations.map(({ id, method, path, vendor, body, answers, doc }) => {
    const needed = vendor === 'required' ? 'always' : `\`${vendor}\``;
    const result = Object.values(answers).find(schema => schema !== null);
    const names = [body, result].map(schema => (schema ? toLink(schema.meta()?.id) : ''));
    return `| \`${id}\` | \`${method} ${path}\` | ${needed} | ${names.join(' | ')} | ${doc} |`;
  });
  return `| operation | route | with the feature | body | answer | does |\n|---|---|---|---|---|---|\n${rows.join('\n')}`;
}

function chapterOf(chapter: string): string {
  if (!Object.hasOwn(chapters, chapter)) throw new Error(`there is no chapter ${chapter} of requirements`);
  const own = Object.entries(sections).filter(([section]) => section.startsWith(`${chapter}.`));
  return own.map(([section, title]) => `### ${section} ${title}\n${listOf(section)}`).join('\n\n');
}

function listOf(section: string): string {
  const ids = requirementIds.filter(id => sectionOf(id) === section);
  return ids
    .map(id => {
      const { level, text, feature } = requirementOf(id);
      return `* **${id}** ${level}${feature === undefined ? '' : ` [${feature}]`}: ${text}`;
    })
    .join('\n');
}
