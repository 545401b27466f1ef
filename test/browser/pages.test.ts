import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import { unavailableProblem } from '../../src/api/problem.ts';
import { mounted } from '../harness/gateway.ts';
import { callWithin } from '../harness/gateway/program.ts';
import { temporaryDirectory } from '../harness/temporary.ts';
import { whyNoBrowser } from './browser.ts';
import { findBarriers, openConsole } from './operator.ts';

const needsBrowser = { skip: whyNoBrowser };

test('the page of a volume shows its copies as a tree, and where it was attached', needsBrowser, async t => {
  const { gateway, page, show } = await openConsole(t);
  const { client } = gateway;
  await gateway.create('a.one');
  await client.createSnapshot(
    { snapshotId: 'a.cut', body: { name: 'cut', volumeId: 'a.one' } },
    callWithin(),
  );
  await gateway.create('a.restored', { source: { kind: 'snapshot', snapshotId: 'a.cut' } });
  await gateway.create('a.clone', { source: { kind: 'volume', volumeId: 'a.one' } });
  const body = { capability: mounted, readonly: false };
  for (const nodeId of ['n1', 'n2']) {
    await client.putNode({ nodeId, body: {} }, callWithin());
    await client.attachVolume({ volumeId: 'a.one', nodeId, body }, callWithin());
    if (nodeId === 'n1') await client.detachVolume({ volumeId: 'a.one', nodeId }, callWithin());
  }
  await show('volumes/a.one');
  const tree = page.getByRole('region', { name: 'Copies' });
  const snapshot = tree.getByRole('listitem').filter({ hasText: 'snapshot a.cut' });
  await snapshot.getByRole('listitem').filter({ hasText: 'volume a.restored' }).waitFor();
  assert.equal(await snapshot.getByText('a.clone').count(), 0);
  await tree.getByRole('listitem').filter({ hasText: 'volume a.clone' }).waitFor();
  const stays = await page.getByRole('region', { name: 'Attachments over time' }).getByRole('listitem').all();
  const words = await Promise.all(stays.map(stay => stay.innerText()));
  assert.equal(words.length, 2);
  assert.match(words[0] ?? '', /^n2: .* – still attached$/);
  assert.match(words[1] ?? '', /^n1: .* – (?!still)/);
  assert.deepEqual(await findBarriers(page), []);
  await tree.getByRole('link', { name: 'a.restored' }).click();
  await page.getByText('It was made from snapshot a.cut.').waitFor();
  await page.getByText('It was never attached').waitFor();
});

test('the page of a pool lists its last failures, the newest first', needsBrowser, async t => {
  let failure = 'no route';
  const own = { create: () => Promise.reject(unavailableProblem(failure)) };
  const { gateway, page, show } = await openConsole(t, { own, pools: { fast: { backend: 'own' } } });
  await show('pools/fast');
  await page.getByText('No call of this gateway has failed since its start.').waitFor();
  for (failure of ['no route', 'no disk']) await assert.rejects(gateway.create(`a.${failure.slice(3)}`));
  const failures = page.getByRole('region', { name: 'Failures' });
  await failures.getByText('no disk').first().waitFor();
  const words = await failures.getByRole('listitem').allInnerTexts();
  assert.match(words[0] ?? '', /create ended with UNAVAILABLE\s+.*no disk \(request /);
  assert.match(words.at(-1) ?? '', /no route/);
  assert.deepEqual(await findBarriers(page), []);
});

test('the page of a pool shows what its machine lacks', needsBrowser, async t => {
  const directory = temporaryDirectory(t);
  const pools = { files: { backend: 'dir', dir: directory } };
  const { page, show } = await openConsole(t, { pools });
  await show('pools/files');
  const machine = page.getByRole('region', { name: 'What its machine lacks' });
  // A filesystem with project quotas lacks nothing.
  await machine.getByText(/Nothing that a check of|has no project quotas/).waitFor();
  rmSync(directory, { recursive: true });
  await machine.getByText(`cannot use the directory "${directory}": there is no such directory`).waitFor();
});

test('a click on a column sorts the list, and the address keeps the order', needsBrowser, async t => {
  const { gateway, page, show } = await openConsole(t);
  const sizes = { small: 2 ** 20, large: 2 ** 30, middle: 2 ** 25 };
  for (const [name, requiredBytes] of Object.entries(sizes))
    await gateway.create(`a.${name}`, { requiredBytes });
  await show('volumes');
  // The gateway sorts all pages, so the rows follow the click on the head.
  const until = (...names: readonly string[]) =>
    page
      .getByText(new RegExp(names.map(name => `a\\.${name}`).join('.*'), 's'))
      .first()
      .waitFor();
  await until('large', 'middle', 'small');
  const size = page.getByRole('button', { name: 'size', exact: true });
  await size.click();
  await page.locator('th[aria-sort=ascending]').waitFor();
  await until('small', 'middle', 'large');
  await size.click();
  await page.locator('th[aria-sort=descending]').waitFor();
  await page.reload();
  await page.locator('th[aria-sort=descending]').waitFor();
  await until('large', 'middle', 'small');
  assert.deepEqual(await findBarriers(page), []);
  await size.press('Enter');
  await page.locator('th[aria-sort]').waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).search, '');
});

test(
  'the volumes of a pool in a state are listed by clicks, and the address keeps the filters',
  needsBrowser,
  async t => {
    const pools = { fast: { backend: 'memory' }, slow: { backend: 'memory' } };
    const { gateway, page, show } = await openConsole(t, { pools, flags: { 'keep-deleted': '1h' } });
    for (const name of ['fast-one', 'fast-two', 'slow-one'])
      await gateway.create(`a.${name}`, { parameters: { pool: name.slice(0, 4) } });
    await gateway.client.deleteVolume({ volumeId: 'a.fast-two' }, callWithin());
    await show('pools');
    await page.getByRole('row', { name: /^fast/ }).getByRole('link', { name: '2' }).click();
    const rows = page.locator('tbody tr');
    const names = (): Promise<readonly string[]> => rows.locator('td:first-child').allInnerTexts();
    await page.getByRole('link', { name: 'a.fast-two' }).waitFor();
    assert.deepEqual(await names(), ['a.fast-one', 'a.fast-two']);
    await page.getByLabel('State').selectOption('deleted');
    await page.getByRole('link', { name: 'a.fast-one' }).waitFor({ state: 'detached' });
    // Nothing is shown until the new list is there.
    await page.getByRole('link', { name: 'a.fast-two' }).waitFor();
    assert.deepEqual(await names(), ['a.fast-two']);
    assert.equal(new URL(page.url()).search, '?pool=fast&state=deleted');
    await page.reload();
    await page.getByRole('link', { name: 'a.fast-two' }).waitFor();
    assert.deepEqual(await names(), ['a.fast-two']);
    assert.deepEqual(await findBarriers(page), []);
    await page.getByLabel('Id contains').fill('one');
    await page.getByText('None.').waitFor();
    await page.getByLabel('State').selectOption('any');
    await page.getByRole('link', { name: 'a.fast-one' }).waitFor();
    assert.deepEqual(await names(), ['a.fast-one']);
  },
);
