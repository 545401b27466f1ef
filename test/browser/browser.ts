import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { packagesOf } from '../packages.ts';
import { stackOf, temporaryDirectory, type CleanupScope } from '../harness/temporary.ts';

const root = packagesOf('browser');
const executablePath = `${root}/usr/lib/chromium/chromium`;

/** The reason why no browser runs here; false if one does. */
export const whyNoBrowser: string | false = existsSync(executablePath)
  ? false
  : 'Chromium is not unpacked; test/browser/packages.sh says why';

const libraries = ['', '/pulseaudio'].map(folder => `${root}/usr/lib/x86_64-linux-gnu${folder}`).join(':');

/** Starts a browser that ends with the test. It finds this machine as `storage.example`, too. */
export async function openBrowser(t: CleanupScope): Promise<Browser> {
  const stack = stackOf(t);
  // Chromium leaves directories behind when it is killed.
  const TMPDIR = temporaryDirectory(t);
  const browser = await chromium.launch({
    executablePath,
    // Chromium refuses to run as root in its sandbox. It shows only pages of the test.
    args: ['--no-sandbox', '--host-resolver-rules=MAP storage.example 127.0.0.1'],
    env: { ...process.env, TMPDIR, LD_LIBRARY_PATH: libraries, XDG_DATA_DIRS: `${root}/usr/share` } as Record<
      string,
      string
    >,
  });
  stack.defer(() => browser.close());
  return browser;
}

/** Opens a page of its own session. Errors of its scripts and refused loads are collected. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ readonly page: Page; readonly errors: readonly string[] }> {
  const context = await browser.newContext(options);
  // A busy machine may need long.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', error => errors.push(error.message));
  page.on('console', message => {
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
      errors.push(message.text());
  });
  return { page, errors };
}
