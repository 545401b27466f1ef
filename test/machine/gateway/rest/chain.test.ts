import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createIdentity, type OwnIdentity } from '../../../../gateway/pools/identity.ts';
import { createClient, type StorageClient } from '../../../../src/api/client.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import {
  callWithin,
  runGateway,
  type GatewayRun,
  type RunningGateway,
} from '../../../harness/gateway/program.ts';
import { filesBelow, inMemory, startVendor } from '../../../fakes/storages/reference.ts';
import { mounted, temporaryDirectory, volumeSpec } from '../../../harness/gateway.ts';

const body = { capability: mounted, readonly: false };
const mebibyte = 2 ** 20;

test("a volume lives its life through three gateways, and each knows the next one's keys", async t => {
  const [box, middle, front] = ['box', 'middle', 'front'].map(() => temporaryDirectory(t)) as [
    string,
    string,
    string,
  ];
  const far = await serveBox(t, 'middle', { directory: box, keys: middle });
  const between = await runGateway(t, {
    directory: middle,
    pools: { box: overGateway(far) },
    clusters: { front: { keys: join(front, 'public.json') } },
    flags: { 'gateway-name': 'middle', 'key-file': join(middle, 'keys.json') },
  });
  await publish(between);
  const client = await serveFront(t, { box: overGateway(between) }, front);

  const key = { volumeId: 'a.one', nodeId: 'n1' };
  const topology = { zone: 'z' };
  await client.putNode({ nodeId: 'n1', body: { topology, maxVolumes: 5 } }, callWithin());
  const spec = volumeSpec('one', { mutableParameters: { tier: 'fast' } });
  const made = await client.createVolume({ volumeId: key.volumeId, body: spec }, callWithin());
  assert.deepEqual([made.sizeBytes, made.topology], [mebibyte, [topology]]);
  const { attachment } = await client.attachVolume({ ...key, body }, callWithin());
  assert.partialDeepStrictEqual(attachment, { protocol: 'loop', mayFormat: true, sizeBytes: mebibyte });
  const { sizeBytes } = await client.expandVolume(
    { volumeId: 'a.one', body: { requiredBytes: 2 * mebibyte } },
    callWithin(),
  );
  assert.equal(sizeBytes, 2 * mebibyte);
  const group = { name: 'group', volumeIds: ['a.one'] };
  const { snapshots } = await client.createGroup({ groupId: 'a.group', body: group }, callWithin());
  const [member = assert.fail()] = snapshots;
  const source = { kind: 'snapshot', snapshotId: member.id } as const;
  const restored = volumeSpec('two', { requiredBytes: 2 * mebibyte, source });
  await client.createVolume({ volumeId: 'a.two', body: restored }, callWithin());
  const blocks = await client.listBlocks({ snapshotId: member.id }, callWithin());
  assert.equal(blocks.sizeBytes, 2 * mebibyte);
  assert.deepEqual((await client.getVolumeHealth({ volumeId: 'a.two' }, callWithin())).entries, []);
  const { availableBytes } = await client.getCapacity({ body: {} }, callWithin());
  assert.equal(availableBytes, 2 ** 30 - 4 * mebibyte);

  await client.detachVolume(key, callWithin());
  await client.deleteGroup({ groupId: 'a.group' }, callWithin());
  for (const volumeId of ['a.one', 'a.two']) await client.deleteVolume({ volumeId }, callWithin());
  assert.equal((await client.getCapacity({ body: {} }, callWithin())).availableBytes, 2 ** 30);
  assert.deepEqual(await namesAt(t, far, createIdentity('middle', join(middle, 'keys.json'))), []);
});

test('several boxes behind one gateway, each a pool, get the requests for their pool', async t => {
  const front = temporaryDirectory(t);
  const boxes = await Promise.all(
    ['north', 'south'].map(name =>
      serveBox(t, 'front', { directory: temporaryDirectory(t), keys: front, zone: name }),
    ),
  );
  const [north = assert.fail(), south = assert.fail()] = boxes;
  const vendor = await startVendor(t);
  writeFileSync(join(front, 'token'), vendor.token);
  const pools = {
    north: overGateway(north),
    south: overGateway(south),
    acme: { backend: 'rest', url: vendor.url, token: 'token', ...filesBelow(vendor.directory) },
  };
  const client = await serveFront(t, pools, front);
  for (const pool of Object.keys(pools))
    await client.createVolume(
      { volumeId: `a.in-${pool}`, body: volumeSpec(`in-${pool}`, { parameters: { pool } }) },
      callWithin(),
    );
  const identity = createIdentity('front', join(front, 'keys.json'));
  assert.deepEqual(await namesAt(t, north, identity), ['a.in-north']);
  assert.deepEqual(await namesAt(t, south, identity), ['a.in-south']);
  const { volumes } = await client.listVolumes({}, callWithin());
  assert.deepEqual(
    volumes.map(({ id, pool, topology }) => [id, pool, topology]),
    [
      ['a.in-acme', 'acme', undefined],
      ['a.in-north', 'north', [{ zone: 'north' }]],
      ['a.in-south', 'south', [{ zone: 'south' }]],
    ],
  );
  await south.end();
  await client.createVolume(
    { volumeId: 'a.more', body: volumeSpec('more', { parameters: { pool: 'north' } }) },
    callWithin(),
  );
});

function overGateway({ url }: RunningGateway) {
  return { backend: 'rest', url, audience: 'fairlead', tries: 2, breakFor: '200ms', ...inMemory };
}

type Box = { readonly directory: string; readonly keys: string; readonly zone?: string };

/** Serves a gateway with a pool in memory, for the gateway whose public keys will be in its directory. */
function serveBox(
  t: TestContext,
  caller: string,
  { directory, keys, zone = 'z' }: Box,
): Promise<RunningGateway> {
  const pools = { main: { backend: 'memory', capacity: '1Gi', topology: { zone } } };
  const clusters = { [caller]: { keys: join(keys, 'public.json') } };
  return runGateway(t, { directory, pools, clusters });
}

/** Writes a gateway's public keys, as it serves them, to the file that others read. */
async function publish({ url, directory }: RunningGateway): Promise<void> {
  const answer = await fetch(`${url}/.well-known/jwks.json`);
  writeFileSync(join(directory, 'public.json'), await answer.text());
}

/** Starts the gateway in front, waits until it reaches its pools, and returns a client of its cluster `a`. */
async function serveFront(
  t: TestContext,
  pools: Exclude<GatewayRun['pools'], 'images' | undefined>,
  directory: string,
): Promise<StorageClient> {
  const clusters = { a: { acceptAnyNode: true } };
  const flags = { 'gateway-name': 'front', 'key-file': join(directory, 'keys.json') };
  const served = await runGateway(t, { directory, pools, clusters, flags });
  await publish(served);
  const { client } = served;
  const count = Object.keys(pools).length;
  const look = async (): Promise<true | undefined> => {
    const known = await client.getCapabilities({}, callWithin()).catch(() => undefined);
    return known?.pools.length === count || undefined;
  };
  assert.ok(await poll(look, { everyMs: 100, timeoutMs: 60_000 }), 'a pool is never reached');
  return client;
}

/** Lists the caller's volumes there, by the names that it gave. */
async function namesAt(
  t: TestContext,
  { url }: RunningGateway,
  identity: OwnIdentity,
): Promise<readonly string[]> {
  const client = createClient({ url, token: renew => identity.token('fairlead', renew) });
  t.after(() => client.close());
  return (await client.listVolumes({}, callWithin())).volumes.map(({ name }) => name);
}
