import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createReadStream, existsSync, globSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { extname, join, relative } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryDirectory } from '../harness/temporary.ts';
import { openBrowser, openPage, whyNoBrowser } from './browser.ts';

const site = 'docs/site';

/** Installs the site's packages if they are missing. Returns the reason why that is impossible here; false if they are there. */
function install(): string | false {
  try {
    // Another run of the tests may do the same.
    const npm = `[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund`;
    execFileSync('flock', ['package.json', 'sh', '-c', npm], {
      cwd: site,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return false;
  } catch (error) {
    return `the packages of ${site} cannot be installed: ${String(error)}`;
  }
}

const skip = install();

/** Builds the site, which takes some seconds, and returns its directory. */
function build(t: TestContext): string {
  const dir = join(temporaryDirectory(t), 'site');
  // Builds share a directory of drafts.
  execFileSync('flock', ['package.json', 'npm', 'run', '--silent', 'build', '--', '--outDir', dir], {
    cwd: site,
    stdio: 'pipe',
  });
  return dir;
}

test('each link of the site leads to a page and a title', { skip }, t => {
  const dir = build(t);
  const pages = globSync('**/*.html', { cwd: dir });
  const texts = new Map(pages.map(page => [page, readFileSync(join(dir, page), 'utf8')]));
  const broken = [...texts].flatMap(([page, text]) => {
    const links = [...text.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, href = '']) => href);
    return links.filter(href => isBroken(href, page)).map(href => `${page}: ${href}`);
  });
  function isBroken(href: string, page: string): boolean {
    const { origin, pathname, hash } = new URL(href, `http://site/${page}`);
    if (origin !== 'http://site') return false;
    const target = pathname.endsWith('/') ? `${pathname.slice(1)}index.html` : pathname.slice(1);
    if (!existsSync(join(dir, target))) return true;
    return hash !== '' && texts.get(target)?.includes(` id="${hash.slice(1)}"`) === false;
  }
  assert.deepEqual(broken, []);
});

test('a reader finds a page by the search', { skip: skip || whyNoBrowser }, async t => {
  const address = await serve(t, build(t));
  const { page, errors } = await openPage(await openBrowser(t));
  await page.goto(address);
  await page.getByRole('link', { name: 'Start', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Fairlead' }).waitFor();
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('searchbox').fill('kill a gateway that does not end');
  await page.locator('.result').first().click();
  await page.waitForURL(/\/docs\/.*\.html#/);
  assert.deepEqual(errors, []);
});

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/** Serves a directory until the test ends, as any web server would. */
async function serve(t: TestContext, dir: string): Promise<string> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    const file = join(dir, pathname === '/' ? 'index.html' : pathname);
    if (relative(dir, file).startsWith('..') || !existsSync(file)) return response.writeHead(404).end();
    response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream');
    return createReadStream(file).pipe(response);
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return `http://127.0.0.1:${port}`;
}
