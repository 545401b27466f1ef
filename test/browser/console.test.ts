import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Browser } from 'playwright-core';
import { changesPath } from '../../src/api/admin/changes.ts';
import { makeIssuerKey } from '../fakes/issuer.ts';
import { startProvider, type Provider } from '../harness/gateway/provider.ts';
import { volumeSpec } from '../harness/gateway.ts';
import { openBrowser, openPage, whyNoBrowser } from './browser.ts';
import { findBarriers } from './operator.ts';
import { openSite, type Site } from './site.ts';

const needsBrowser = { skip: whyNoBrowser };

type Opened = { readonly site: Site; readonly browser: Browser };

async function open(t: TestContext): Promise<Opened> {
  const site = await openSite(t);
  await site.start();
  return { site, browser: await openBrowser(t) };
}

/** Opens a page that is logged in by a link of `fairlead console`. */
async function logIn({ site, browser }: Opened, options: Parameters<typeof openPage>[1] = {}) {
  const opened = await openPage(browser, options);
  await opened.page.goto(await site.link());
  await opened.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  return opened;
}

/** Creates volumes of the cluster, the last one with a snapshot. */
async function fill({ client, call }: Site, count: number): Promise<void> {
  for (let index = 0; index < count; index++)
    await client.createVolume({ volumeId: `dev.pvc-${index}`, body: volumeSpec(`pvc-${index}`) }, call());
  const body = { name: 'snap', volumeId: `dev.pvc-${count - 1}` };
  await client.createSnapshot({ snapshotId: 'dev.snap', body }, call());
}

test('a link of fairlead console logs in once, and its code leaves the address', needsBrowser, async t => {
  const opened = await open(t);
  const { site, browser } = opened;
  const link = await site.link();
  const { page, errors } = await openPage(browser);
  await page.goto(link);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  assert.equal(page.url(), `${site.url}/console`);
  assert.deepEqual(errors, []);
  const { page: other } = await openPage(browser);
  await other.goto(link);
  await other.getByRole('alert').filter({ hasText: 'the code was used before' }).waitFor();
  // The browser loads nothing for another link of the same page.
  await other.goto(await site.link());
  await other.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
});

test(
  'a token logs in, a wrong one says why, and the end of the session is seen in every tab',
  needsBrowser,
  async t => {
    const { site, browser } = await open(t);
    const { page } = await openPage(browser);
    await page.goto(`${site.url}/console/volumes`);
    await page.getByLabel('paste an operator’s token').fill('wrong');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').filter({ hasText: 'the token' }).waitFor();
    await page.getByLabel('paste an operator’s token').fill(await site.token());
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Volumes' }).waitFor();
    const tab = await page.context().newPage();
    await tab.goto(`${site.url}/console`);
    await tab.getByRole('button', { name: 'Log out' }).click();
    await tab.getByRole('button', { name: 'Log in' }).waitFor();
    // A tab in the background asks nothing.
    await page.bringToFront();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
  },
);

test(
  'over http from another machine, the login says that the browser did not keep the session',
  needsBrowser,
  async t => {
    const { site, browser } = await open(t);
    const { page } = await openPage(browser);
    await page.goto((await site.link()).replace('127.0.0.1', 'storage.example'));
    await page.getByRole('alert').filter({ hasText: 'use an https address' }).waitFor();
  },
);

test(
  'an operator logs in at the OpenID provider, and somebody who is none learns why not',
  needsBrowser,
  async t => {
    const key = await makeIssuerKey('one', 'ES256');
    const opening = Promise.withResolvers<Provider>();
    const site = await openSite(t, async url => {
      const client = { id: 'console', redirect: `${url}/console/oidc/callback` };
      const provider = await startProvider(t, key, client);
      opening.resolve(provider);
      return { issuer: provider.url, subjects: ['ann'], console: { clientId: client.id, url } };
    });
    await site.start();
    const provider = await opening.promise;
    const { page, errors } = await openPage(await openBrowser(t));
    provider.subject = 'eve';
    await page.goto(`${site.url}/console`);
    await page.getByRole('link', { name: 'Log in with your account' }).click();
    await page.getByRole('alert').filter({ hasText: 'your account is not one of an operator' }).waitFor();
    assert.equal(page.url(), `${site.url}/console`);
    assert.deepEqual(await findBarriers(page), []);
    provider.subject = 'ann';
    await page.getByRole('link', { name: 'Log in with your account' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByText('ann').waitFor();
    await page.getByText('0 volumes').first().waitFor();
    assert.deepEqual(errors, []);
  },
);

test('a change of somebody else shows without a new load of the page', needsBrowser, async t => {
  const opened = await open(t);
  const { page } = await logIn(opened);
  await page.getByText('0 volumes').first().waitFor();
  await fill(opened.site, 2);
  await page.getByText('2 volumes').first().waitFor();
});

test('a list and a page hear of changes, and ask seldom by themselves', needsBrowser, async t => {
  const opened = await open(t);
  const { page, errors } = await logIn(opened);
  const asked: string[] = [];
  page.on('request', request => asked.push(new URL(request.url()).pathname));
  const listening = page.waitForResponse(new RegExp(`${changesPath}$`));
  await page.goto(`${opened.site.url}/console/volumes`);
  await listening;
  await page.getByText('None.').waitFor();
  const count = (): number => asked.filter(path => path === '/v1/admin/volumes').length;
  await page.waitForTimeout(1_000);
  asked.length = 0;
  await page.waitForTimeout(10_000);
  assert.ok(count() <= 1, `${count()} requests for an empty list that does not change`);
  await fill(opened.site, 1);
  await page.getByRole('link', { name: 'dev.pvc-0' }).click();
  await page.getByText('snapshot dev.snap').waitFor();
  await page.waitForTimeout(1_000);
  asked.length = 0;
  await page.waitForTimeout(10_000);
  assert.ok(count() <= 2, `${count()} requests for a volume that does not change`);
  await opened.site.client.deleteSnapshot({ snapshotId: 'dev.snap' }, opened.site.call());
  await page.getByText('It has no snapshots and no clones.').waitFor();
  await page.goto(`${opened.site.url}/console`);
  assert.deepEqual(errors, []);
});

test('the page says that the gateway is gone, and goes on once it is back', needsBrowser, async t => {
  const site = await openSite(t);
  const gateway = await site.start();
  const { page } = await logIn({ site, browser: await openBrowser(t) });
  await page.getByText('everything works').waitFor();
  await gateway.end('SIGKILL');
  await page.getByText('does not answer').first().waitFor();
  await site.start();
  await page.getByText('everything works').waitFor();
});

test(
  'a volume is found by its id, and its page leads to its pool, its snapshot and its history',
  needsBrowser,
  async t => {
    const opened = await open(t);
    await fill(opened.site, 3);
    const { page } = await logIn(opened);
    await page.getByRole('link', { name: 'Volumes', exact: true }).click();
    await page.getByRole('link', { name: 'dev.pvc-0' }).waitFor();
    await page.getByRole('searchbox', { name: 'Id contains' }).fill('vc-2');
    await page.getByRole('link', { name: 'dev.pvc-0' }).waitFor({ state: 'detached' });
    assert.match(page.url(), /\/console\/volumes\?find=vc-2$/);
    await page.getByRole('link', { name: 'dev.pvc-2' }).click();
    await page.getByText('volume "dev.pvc-2" waits for nothing').waitFor();
    await page.getByRole('link', { name: 'dev.snap' }).waitFor();
    await page.getByRole('cell', { name: 'create', exact: true }).waitFor();
    await page.getByRole('link', { name: 'images' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Pool images' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Volume dev.pvc-2' }).waitFor();
  },
);

test(
  'an operator deletes a volume after the plan and its typed name, and the log names the key',
  needsBrowser,
  async t => {
    const opened = await open(t);
    const { site } = opened;
    await fill(site, 2);
    const { page } = await logIn(opened);
    await page.goto(`${site.url}/console/volumes/dev.pvc-0`);
    await page.getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete volume dev.pvc-0' });
    await dialog.getByText('would delete volume "dev.pvc-0" for good').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    const button = dialog.getByRole('button', { name: 'Delete', exact: true });
    assert.equal(await button.isDisabled(), true, 'the name is not typed yet');
    await dialog.getByRole('textbox').fill('dev.pvc-1');
    assert.equal(await button.isDisabled(), true, 'another name is typed');
    await site.client.getVolume({ volumeId: 'dev.pvc-0' }, site.call());
    await dialog.getByRole('textbox').fill('dev.pvc-0');
    await button.click();
    await dialog.getByText('volume "dev.pvc-0" is deleted').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('There is no volume “dev.pvc-0”.').waitFor();
    await assert.rejects(site.client.getVolume({ volumeId: 'dev.pvc-0' }, site.call()), {
      code: 'NOT_FOUND',
    });
    await page.goto(`${site.url}/console/audit-log?find=dev.pvc-0`);
    await page.getByRole('cell', { name: 'operator' }).first().waitFor();
  },
);

test('the drain of one operator is seen by another', needsBrowser, async t => {
  const opened = await open(t);
  const { site } = opened;
  await fill(site, 2);
  const [{ page }, { page: other }] = [await logIn(opened), await logIn(opened)];
  await other.goto(`${site.url}/console/pools/images`);
  await page.goto(`${site.url}/console/pools/images`);
  await page.getByRole('button', { name: 'Drain…' }).click();
  await page.getByText('would take no new volumes').waitFor();
  await page.getByRole('button', { name: 'Drain', exact: true }).click();
  await other.getByText('open+drained').waitFor();
  await other.getByRole('button', { name: 'Undrain…' }).waitFor();
});

test(
  'the overview plots the last 24 hours in words and pictures, and redraws them in the other theme',
  needsBrowser,
  async t => {
    const opened = await open(t);
    const { page } = await logIn(opened, { colorScheme: 'light', reducedMotion: 'reduce' });
    const plot = page.getByRole('img', {
      name: /^Space: reserved from 0 B to .* capacity from 1 GiB to 1 GiB/,
    });
    await plot.locator('canvas').waitFor();
    const light = await page.evaluate(() => document.querySelector('canvas')?.toDataURL());
    assert.match(light ?? '', /^data:image/);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.waitForFunction(old => document.querySelector('canvas')?.toDataURL() !== old, light);
    await page.getByText('capacity: 1 GiB').waitFor();
    await page.getByText('No operation had to wait.').waitFor();
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
    await page.getByRole('link', { name: 'All figures, minute by minute' }).click();
    await page.getByRole('cell', { name: 'images' }).first().waitFor();
  },
);

const pages = [
  '',
  'volumes',
  'volumes/dev.pvc-0',
  'snapshots',
  'attachments',
  'nodes',
  'pools',
  'pools/images',
  'clusters',
  'clusters/dev',
  'operations',
  'queues',
  'audit-log',
  'history',
  'none',
  'volumes/dev.none',
];
const widths = [360, 1280, 3840];

for (const colorScheme of ['light', 'dark'] as const)
  test(
    `every page is accessible in the ${colorScheme} theme, and fits every screen`,
    needsBrowser,
    async t => {
      const opened = await open(t);
      await fill(opened.site, 2);
      const { page, errors } = await logIn(opened, { colorScheme });
      for (const path of pages) {
        await page.goto(`${opened.site.url}/console/${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.getByText('Loading…').waitFor({ state: 'detached' });
        assert.deepEqual(await findBarriers(page), [], path);
        for (const width of widths) {
          await page.setViewportSize({ width, height: 900 });
          const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
          assert.ok(beyond <= 0, `${path} is ${beyond} pixels too wide for a screen of ${width}`);
        }
      }
      assert.deepEqual(errors, []);
    },
  );

test('the login page is accessible', needsBrowser, async t => {
  const { site, browser } = await open(t);
  const { page } = await openPage(browser);
  await page.goto(`${site.url}/console`);
  await page.getByRole('button', { name: 'Log in' }).waitFor();
  assert.deepEqual(await findBarriers(page), []);
});
