import assert from 'node:assert/strict';
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { createClient } from '../../../../src/api/client.ts';
import { crashPoints } from '../../../fakes/faulty-backend/rules.ts';
import {
  filesBelow,
  referenceVendors,
  startVendor,
  type RunningVendor,
} from '../../../fakes/storages/reference.ts';
import { mounted } from '../../../harness/gateway.ts';
import { sample } from '../../../harness/sample.ts';
import { createMutations, fixtures, killInEach, requireComplete } from '../mutations.ts';
import { callWithin, runGateway, type RunningGateway } from '../../../harness/gateway/program.ts';
import { askPatiently, prepareDirectory, type Ask } from '../process.ts';

const [, python] = referenceVendors;
const { skip } = python;
const mutations = createMutations({ label: 'tuned' });
const text = 'data from before the first failure';
const mebibyte = 2 ** 20;

for (const point of sample('points', crashPoints, 1))
  test(
    `a gateway killed ${point} in each mutation, together with its storage, loses and repeats nothing`,
    { skip },
    async t => {
      const { vendor, directory } = await prepare(t);
      const afterKill = async (): Promise<void> => {
        await vendor.kill();
        await vendor.start();
      };
      await killInEach(t, mutations, { directory, point, afterKill });
      await assertWhole(t, await runGateway(t, { directory, faults: [] }), vendor);
    },
  );

test('a storage that is killed in each mutation loses and repeats nothing', { skip }, async t => {
  const { vendor, directory } = await prepare(t);
  const gateway = await runGateway(t, { directory, faults: [] });
  for (const [index, [, ask]] of mutations.entries()) {
    const asked = askPatiently(gateway, ask);
    // Before, during and after its work.
    await sleep(index * 3);
    await vendor.kill();
    await vendor.start();
    await asked;
  }
  await assertWhole(t, gateway, vendor);
});

/** Starts a vendor with all features, and makes the objects that exist before any fault. */
async function prepare(
  t: TestContext,
): Promise<{ readonly vendor: RunningVendor; readonly directory: string }> {
  const vendor = await startVendor(t, { command: python.command });
  const rest = { backend: 'rest', url: vendor.url, token: 'token', tries: 2, breakFor: '200ms' };
  const pool = { ...rest, ...filesBelow(vendor.directory) };
  const directory = await prepareDirectory(t, { acme: pool });
  writeFileSync(join(directory, 'token'), vendor.token);
  const first = await runGateway(t, { directory, faults: [] });
  for (const ask of fixtures) await ask(first.client, callWithin(10_000));
  const source = openSync(await attach(first, 'a.source'), 'r+');
  writeSync(source, text, mebibyte / 2);
  closeSync(source);
  await first.client.detachVolume({ volumeId: 'a.source', nodeId: 'n2' }, callWithin(10_000));
  await first.end('SIGKILL');
  return { vendor, directory };
}

/** Fails unless repeated requests get the same answers, and the storage agrees with the gateway. */
async function assertWhole(t: TestContext, gateway: RunningGateway, vendor: RunningVendor): Promise<void> {
  const near = await requireComplete(gateway, mutations);
  const far = createClient({ url: vendor.url, token: () => vendor.token });
  t.after(() => far.close());
  const { volumes } = await far.listVolumes({}, callWithin(10_000));
  const { snapshots } = await far.listSnapshots({}, callWithin(10_000));
  assert.deepEqual(
    volumes.map(({ name, sizeBytes }) => [name, sizeBytes]).toSorted(),
    near.volumes.map(({ id, sizeBytes }) => [id, sizeBytes]),
  );
  const attached = volumes.flatMap(({ name, attachments }) => attachments.map(() => name));
  assert.deepEqual(attached, ['a.plain']);
  const ofGroups = (all: typeof snapshots) => all.filter(({ groupId }) => groupId !== undefined);
  assert.deepEqual([near.snapshots.length, snapshots.length], [3, 3]);
  assert.deepEqual([ofGroups(near.snapshots).length, ofGroups(snapshots).length], [2, 2]);
  assert.equal(readText(await attach(gateway, 'a.copy')), text);
}

async function attach(gateway: RunningGateway, volumeId: string): Promise<string> {
  const body = { capability: mounted, readonly: false };
  const ask: Ask = (client, call) => client.attachVolume({ volumeId, nodeId: 'n2', body }, call);
  const { attachment } = (await askPatiently(gateway, ask)) as { attachment?: { path?: string } };
  return attachment?.path ?? assert.fail(`${volumeId} is attached without a path`);
}

function readText(path: string): string {
  const file = openSync(path, 'r');
  const bytes = Buffer.alloc(text.length);
  readSync(file, bytes, 0, bytes.length, mebibyte / 2);
  closeSync(file);
  return bytes.toString();
}
