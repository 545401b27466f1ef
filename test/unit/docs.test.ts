import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const files = globSync('test/**/*', { exclude: ['**/node_modules/**'] });

/** Whether a file or a folder of tests has this path, or ends with it; `*` is any name. */
function isThere(path: string): boolean {
  const pattern = path.replaceAll('.', '\\.').replaceAll('*', '[^/]*').replace(/\/$/, '');
  const expression = new RegExp(`(^|/)${pattern}$`);
  return files.some(file => expression.test(file));
}

/** The files and folders of tests that a text names. */
function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/test\/[\w./*-]*[\w/]|[\w./*-]+\.(?:test|guest)\.ts/g)].map(([name]) => name);
}

test('each link of a page leads to a file, and to a title in it', () => {
  const pages = ['AGENTS.md', 'README.md', ...globSync('{docs,examples}/**/*.md')];
  const broken = pages.flatMap(page => {
    const links = readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g);
    const lost = [...links].filter(([, path = '', title]) => {
      const target = path === '' ? page : join(dirname(page), path);
      return !existsSync(target) || (title !== undefined && !titlesOf(target).has(title));
    });
    return lost.map(([link]) => `${page}: ${link}`);
  });
  assert.deepEqual(broken, []);
});

/** The titles of a page, as links name them. */
function titlesOf(page: string): ReadonlySet<string> {
  const titles = readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm);
  return new Set(
    [...titles].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}

for (const page of ['docs/field-failures.md', 'docs/security.md'])
  test(`each file of tests that ${page} names is there`, () => {
    const missing = namesIn(readFileSync(page, 'utf8')).filter(name => !isThere(name));
    assert.deepEqual(missing, []);
  });

test('each failure from the field has a row, in order, that names tests', () => {
  const rows = [...readFileSync('docs/field-failures.md', 'utf8').matchAll(/^\| (\d+) \|(.*)$/gm)];
  assert.deepEqual(
    rows.map(([, number]) => Number(number)),
    Array.from({ length: 46 }, (_, index) => index + 1),
  );
  assert.deepEqual(
    rows.filter(([, , row = '']) => namesIn(row).length === 0).map(([, number]) => number),
    [],
  );
});

test('each title of a test that docs/security.md quotes is that of one', () => {
  const texts = files.filter(name => name.endsWith('.ts')).map(name => readFileSync(name, 'utf8'));
  const all = texts.join('\n').replaceAll("\\'", "'");
  const cells = [...readFileSync('docs/security.md', 'utf8').matchAll(/^\|.*\| (.*) \|$/gm)];
  const quoted = cells.flatMap(([, cell = '']) =>
    [...cell.matchAll(/"([^"]+)"/g)].map(([, title = '']) => title),
  );
  // Each "…" stands for what differs, such as the row of a table of tests.
  const missing = quoted.filter(title =>
    title.split('…').some(part => !all.includes(part.trim().replace(/^[,;] /, ''))),
  );
  assert.deepEqual(missing, []);
});
