import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { readEvidence } from '../../docs/generate/evidence.ts';
import { minNode } from '../../deploy/release/requirement.ts';
import { readGuide } from '../../docs/guides/guide.ts';
import { commands } from '../../src/cli/commands.ts';
import { connectionSettings } from '../../src/cli/connection.ts';
import { listCommands } from '../../src/cli/run.ts';
import packageJson from '../../package.json' with { type: 'json' };

const { security, failures, alerts } = readEvidence();
/** Pages of the packages that build the site. */
const exclude = ['**/node_modules/**'];
const proofs = Object.values({ ...security, ...failures, ...alerts }).flat();

test('each link of a page leads to an existing file and title', () => {
  const pages = ['AGENTS.md', 'README.md', ...globSync('{docs,examples}/**/*.md', { exclude })];
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

test('the sidebar of the site names each page of docs', () => {
  const sidebar = readFileSync('docs/site/.vitepress/config.ts', 'utf8');
  const pages = globSync('**/*.md', { cwd: 'docs', exclude: ['site/**'] }).map(page => page.slice(0, -3));
  assert.ok(pages.length > 20);
  assert.deepEqual(
    pages.filter(page => !sidebar.includes(`'${page}'`)),
    [],
  );
});

test('each command that a page names exists', async () => {
  const known = new Set((await listCommands({ path: 'fairlead', commands })).map(({ path }) => path));
  const isKnown = (command: string): boolean =>
    known.has(command) || [...known].some(path => path.startsWith(`${command} `));
  const pages = ['AGENTS.md', 'README.md', ...globSync('docs/{*,guides/*}.md')];
  const named = pages.flatMap(page =>
    [...readFileSync(page, 'utf8').matchAll(/`(?:npx )?(fairlead [a-z]+)( [a-z-]+)?/g)].map(
      ([, command = '', below = '']) => ({ page, command, below }),
    ),
  );
  // A command without others below it has operands, such as the name of a cluster.
  const unknown = named.filter(
    ({ command, below }) => !isKnown(known.has(command) ? command : `${command}${below}`),
  );
  assert.ok(named.length > 20);
  assert.deepEqual(unknown, []);
});

test('each script of npm that a page names exists, and AGENTS.md has each script', () => {
  const own = Object.keys(packageJson.scripts);
  const pages = [...globSync('{*,docs/**/*}.md', { exclude }), '.ci/run', ...globSync('.github/**/*.yaml')];
  const named = pages.flatMap(page =>
    [...readFileSync(page, 'utf8').matchAll(/\bnpm (?:run )?(?:-s )?([a-z:]+)/g)].map(
      ([command, name = '']) => ({
        page,
        name: command.includes(' run ') || name === 'test' ? name : '',
      }),
    ),
  );
  assert.ok(named.length > 30);
  assert.deepEqual(
    named.filter(({ name }) => name !== '' && !own.includes(name)),
    [],
  );
  const explained = new Set(named.filter(({ page }) => page === 'AGENTS.md').map(({ name }) => name));
  // npm calls these two by itself.
  const missing = own.filter(name => !['predemo', 'prepublishOnly'].includes(name) && !explained.has(name));
  assert.deepEqual(missing, []);
});

test('README, the manifests, the pages and the messages name the same versions of Node.js', () => {
  const { engines, dependencies } = packageJson;
  const oldest = engines.node.replace('>=', '');
  for (const page of ['README.md', 'docs/guides/vendor.md'])
    assert.match(readFileSync(page, 'utf8'), new RegExp(`Node\\.js ${oldest} or newer`), page);
  const current = readFileSync('.node-version', 'utf8').trim();
  assert.equal(current, dependencies.node);
  assert.equal(current.split('.', 1)[0], String(minNode.programs));
  for (const page of ['deploy/release/npm.md', 'docs/releasing.md'])
    assert.match(readFileSync(page, 'utf8'), new RegExp(`Node\\.js ${minNode.commands} or newer`), page);
  const [, table = ''] =
    /^## Node\.js\n(.*?)^## /ms.exec(readFileSync('docs/compatibility.md', 'utf8')) ?? [];
  assert.deepEqual(table.match(/\b\d\d\b/g), [oldest, '26', '22', '26', '26']);
});

test('the page on the command line has each description of each setting', async () => {
  const page = readFileSync('docs/reference/cli.md', 'utf8');
  const all = (await listCommands({ path: 'fairlead', commands })).filter(({ command }) => command.fallback);
  const missing = all.flatMap(({ path, command }) => {
    const [, section = ''] = page.split(`## ${path.split(' ').slice(0, 2).join(' ')}\n`);
    const own = Object.entries(command.settings).filter(([name]) => !Object.hasOwn(connectionSettings, name));
    const rows = section.split('\n## ', 1)[0]?.split('\n') ?? [];
    return own
      .filter(([name, { doc }]) => !rows.some(row => row.includes(`--${name}\``) && row.includes(doc)))
      .map(([name]) => `${path} --${name}`);
  });
  assert.ok(all.length > 10);
  assert.deepEqual(missing, []);
});

test('the guides for users of a release install it by the same commands', () => {
  const steps = ['storage-server', 'kubernetes', 'vendor', 'hosting'].map(
    name => readGuide(`docs/guides/${name}.md`)[0]?.text,
  );
  assert.match(steps[0] ?? '', /^apt-get install .*fairlead_/m);
  assert.equal(new Set(steps).size, 1);
});

/** Lists the titles of a page in the spelling of links. */
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

test('each example of a storage server has passed the kit of this version', () => {
  const page = readFileSync('docs/reference/vendors.md', 'utf8');
  const rows = [...page.matchAll(/^\| \[(vendor-\w+)\][^|]*\|[^|]*\| ([\d.]+) \|/gm)];
  assert.deepEqual(
    rows.map(([, name, version]) => `${name} ${version}`).toSorted(),
    globSync('vendor-*', { cwd: 'examples' })
      .map(name => `${name} ${packageJson.version}`)
      .toSorted(),
  );
});

test('every rule of docs/security.md has evidence, and all evidence belongs to a rule or a limit', () => {
  const ids = idsOf('docs/security.md');
  assert.deepEqual(
    ids.filter(id => !id.startsWith('L') && !Object.hasOwn(security, id)),
    [],
  );
  assert.deepEqual(
    Object.keys(security).filter(id => !ids.includes(id)),
    [],
  );
});

test('the failures from the field are in order, and each has evidence', () => {
  const rows = idsOf('docs/field-failures.md');
  assert.deepEqual(
    rows,
    rows.toSorted((a, b) => Number(a) - Number(b)),
  );
  assert.deepEqual(rows, Object.keys(failures));
});

/** Reads the ids in the first cells of a page's tables. */
function idsOf(page: string): readonly string[] {
  const rows = readFileSync(page, 'utf8').matchAll(/^\| ([A-Z]?\d+) \|/gm);
  return [...rows].map(([, id = '']) => id);
}

test('each file of the evidence exists', () => {
  assert.deepEqual(
    proofs.map(({ file }) => file).filter(file => !existsSync(file)),
    [],
  );
});

test('each title of the evidence is in its file', () => {
  const missing = proofs.flatMap(({ file, titles = [] }) => {
    if (titles.length === 0) return [];
    assert.ok(statSync(file).isFile(), `${file} is no file`);
    const text = readFileSync(file, 'utf8').replaceAll("\\'", "'");
    // Each "…" stands for a part that varies, such as the row of a table of tests.
    const isThere = (title: string): boolean =>
      title.split('…').every(part => text.includes(part.trim().replace(/^[,;] /, '')));
    return titles.filter(title => !isThere(title)).map(title => `${file}: ${title}`);
  });
  assert.deepEqual(missing, []);
});
