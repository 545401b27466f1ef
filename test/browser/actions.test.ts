import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { mounted, newVolume, openMemory } from '../harness/gateway.ts';
import { volumesIn } from '../harness/gateway/fixtures.ts';
import { callWithin, prepareGateway } from '../harness/gateway/program.ts';
import { signerOf } from '../harness/gateway/signers.ts';
import { whyNoBrowser } from './browser.ts';
import { findBarriers, openAction, openConsole, takeAction } from './operator.ts';

const needsBrowser = { skip: whyNoBrowser };

test('an operator grants a volume, and revokes the grant by force after the plan', needsBrowser, async t => {
  const { gateway, page, show } = await openConsole(t);
  const b = gateway.clientOf('b');
  await gateway.create('a.one');
  await show('volumes/a.one');
  const fields = { Cluster: 'b', Access: 'read-write' };
  const granting = await openAction(page, 'Grant', fields);
  await granting.getByText('volume "a.one" would be shared with cluster "b" read-write').waitFor();
  assert.deepEqual(await findBarriers(page), []);
  await assert.rejects(b.getVolume({ volumeId: 'a.one' }, callWithin()), { code: 'NOT_FOUND' });
  // A plan is about the values that it was made with.
  await granting.getByLabel('Access').selectOption('read-only');
  assert.equal(await granting.getByRole('button', { name: 'Grant', exact: true }).count(), 0);
  await granting.getByLabel('Access').selectOption('read-write');
  await granting.getByRole('button', { name: 'Show the consequences' }).click();
  await takeAction(granting, { word: 'Grant', outcome: 'is shared with cluster "b" read-write' });
  await page.getByText('b:read-write').waitFor();
  await b.putNode({ nodeId: 'n1', body: {} }, callWithin());
  const body = { capability: mounted, readonly: false };
  await b.attachVolume({ volumeId: 'a.one', nodeId: 'n1', body }, callWithin());
  const revoking = await openAction(page, 'Revoke', { Cluster: 'b' });
  await revoking.getByText('is attached to node "n1" of cluster "b" for writing; detach it first').waitFor();
  await revoking.getByLabel('First detach it').check();
  await revoking.getByText('would detach volume "a.one" from node "n1" of cluster "b"').waitFor();
  await takeAction(revoking, { word: 'Revoke', outcome: 'is not shared with cluster "b"' });
  await page.getByText('b:read-write').waitFor({ state: 'detached' });
  await assert.rejects(b.getVolume({ volumeId: 'a.one' }, callWithin()), { code: 'NOT_FOUND' });
});

test(
  'an operator grants the copies of a volume and of a snapshot, and revokes them',
  needsBrowser,
  async t => {
    const { gateway, page, show } = await openConsole(t);
    const b = gateway.clientOf('b');
    await gateway.create('a.one');
    await gateway
      .clientOf('a')
      .createSnapshot({ snapshotId: 'a.cut', body: { name: 'cut', volumeId: 'a.one' } }, callWithin());
    const isVisible = () => b.getSnapshot({ snapshotId: 'a.cut' }, callWithin()).then(({ id }) => id);
    await assert.rejects(isVisible(), { code: 'NOT_FOUND' });
    for (const [path, kind, fields] of [
      ['volumes/a.one', 'volume "a.one"', { Cluster: 'b', Access: 'copies only' }],
      ['snapshots/a.cut', 'snapshot "a.cut"', { Cluster: 'b' }],
    ] as const) {
      await show(path);
      const granting = await openAction(page, 'Grant', fields);
      await granting.getByText(`cluster "b" could copy ${kind}`).waitFor();
      await takeAction(granting, { word: 'Grant', outcome: `cluster "b" can copy ${kind}` });
      if (path === 'snapshots/a.cut') assert.equal(await isVisible(), 'a.cut');
      const revoking = await openAction(page, 'Revoke', { Cluster: 'b' });
      await takeAction(revoking, { word: 'Revoke', outcome: `cluster "b" cannot copy ${kind}` });
    }
    await assert.rejects(isVisible(), { code: 'NOT_FOUND' });
  },
);

test('an operator transfers a volume after its typed name, and gets its manifests', needsBrowser, async t => {
  const { gateway, page, show } = await openConsole(t);
  await gateway.create('a.one');
  await show('volumes/a.one');
  const dialog = await openAction(page, 'Transfer', {
    Cluster: 'b',
    'New name (if it has to change)': 'moved',
  });
  await dialog.getByText('volume "a.one" would belong to cluster "b" as "b.moved"').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Transfer', exact: true }).isDisabled(), true);
  await takeAction(dialog, { word: 'Transfer', typed: 'a.one', outcome: '"volumeHandle": "b.moved"' });
  await page.getByText('There is no volume “a.one”.').waitFor();
  await gateway.clientOf('b').getVolume({ volumeId: 'b.moved' }, callWithin());
});

test(
  'an operator imports one volume that only the storage has, and a repair removes another',
  needsBrowser,
  async t => {
    const own = await openMemory();
    const pools = { fast: { backend: 'own' } };
    const { gateway, page, show } = await openConsole(t, { own, pools });
    await gateway.create('a.kept');
    for (const id of ['a.found', 'a.orphan']) await own.create(newVolume(id));
    await show('pools/fast');
    const checking = await openAction(page, 'Check');
    await takeAction(checking, { word: 'Check', outcome: 'a.orphan' });
    const difference = page.getByRole('listitem').filter({ hasText: 'a.found' });
    await difference.getByRole('button', { name: 'Import…' }).click();
    const importing = page.getByRole('dialog');
    await importing.getByRole('button', { name: 'Show the consequences' }).click();
    await importing.getByText('"a.found" of pool "fast" would be volume "a.found" of cluster "a"').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    await takeAction(importing, { word: 'Import', outcome: '"a.found" of pool "fast" is now volume' });
    await gateway.client.getVolume({ volumeId: 'a.found' }, callWithin());
    const age = 'Remove differences that checks have found for at least';
    const repairing = await openAction(page, 'Repair', { [age]: 'an hour' });
    await repairing.getByText('it was first found less than the safety age ago').waitFor();
    await repairing.getByLabel(age).selectOption('any time');
    await repairing.getByRole('button', { name: 'Show the consequences' }).click();
    await repairing.getByText(/a\.orphan .* remove/).waitFor();
    assert.deepEqual(await volumesIn(own), ['a.found', 'a.kept', 'a.orphan']);
    await takeAction(repairing, { word: 'Repair', typed: 'repair', outcome: 'done' });
    assert.deepEqual(await volumesIn(own), ['a.found', 'a.kept']);
  },
);

test('a reader sees everything, and no button of an action', needsBrowser, async t => {
  const directory = await prepareGateway(t);
  const path = join(directory, 'gateway.yaml');
  const file = JSON.parse(readFileSync(path, 'utf8')) as { readonly operators: object };
  const { publicJwk, privateJwk } = await signerOf('reader of operators');
  writeFileSync(join(directory, 'readers.jwks.json'), JSON.stringify({ keys: [publicJwk] }));
  writeFileSync(
    path,
    JSON.stringify({ ...file, operators: { ...file.operators, readers: 'readers.jwks.json' } }),
  );
  const keyFile = join(directory, 'reader.jwk.json');
  writeFileSync(keyFile, JSON.stringify(privateJwk));
  const { gateway, page, show } = await openConsole(t, { directory, keyFile });
  await gateway.create('a.one');
  for (const [shown, fact] of [
    ['volumes/a.one', 'SINGLE_NODE_WRITER'],
    ['pools/one', 'memory'],
  ] as const) {
    await show(shown);
    await page.getByText(fact).first().waitFor();
    assert.deepEqual(await page.getByRole('button').allInnerTexts(), ['Log out']);
  }
});
