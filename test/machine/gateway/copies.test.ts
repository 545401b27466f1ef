import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { ProblemCode } from '../../../src/api/problem.ts';
import { operatorCli } from '../../harness/cli/run-cli.ts';
import { runController } from '../../harness/controller.ts';
import { mounted, temporaryDirectory } from '../../harness/gateway.ts';
import { callWithin, runGateway } from '../../harness/gateway/program.ts';
import { signerOf } from '../../harness/gateway/signers.ts';
import { temporaryFile } from '../../harness/temporary.ts';

const MiB = 2 ** 20;
const writer = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;

type NewVolume = {
  readonly name: string;
  readonly bytes: number;
  readonly source?: { readonly snapshot: object } | { readonly volume: object };
};

/** Opens a gateway with a pool of image files, and a controller of each of two clusters, a and b. */
async function open(t: TestContext) {
  const images = join(temporaryDirectory(t), 'images');
  mkdirSync(images);
  const gateway = await runGateway(t, {
    pools: {
      images: { backend: 'image', dir: images, capacity: '1Gi' },
      other: { backend: 'memory' },
    },
    clusters: {
      a: {},
      b: { quota: { bytes: '36Mi', pools: { images: { volumes: 3 } } } },
      c: { pools: ['other'] },
    },
  });
  const controllerOf = async (cluster: string) => {
    const keyFile = temporaryFile(t, (await signerOf(cluster)).privateJwk);
    const flags = { gateway: gateway.url, cluster, 'key-file': keyFile, 'allow-http': 'true' };
    const { csi, untilReady } = await runController(t, flags);
    await untilReady();
    return csi.controller;
  };
  const [east, west] = [await controllerOf('a'), await controllerOf('b')];
  const create = async (by: typeof east, { name, bytes, source }: NewVolume): Promise<string> => {
    const { volume } = await by.CreateVolume({
      name,
      capacity_range: { required_bytes: bytes },
      volume_capabilities: [writer],
      parameters: { pool: 'images' },
      ...(source && { volume_content_source: source }),
    });
    return volume?.volume_id ?? assert.fail('no volume');
  };
  const imageOf = (id: string): string => join(images, `${id}.img`);
  const listed = async (by: typeof east, query: object): Promise<readonly unknown[]> =>
    (await by.ListSnapshots(query)).entries.map(({ snapshot }) => snapshot?.snapshot_id);
  const operator = operatorCli(gateway);
  const fairlead = async (line: string) => {
    const { stdout, stderr, status } = await operator(line);
    assert.equal(status, 0, stderr);
    return parseAllDocuments(stdout).map(one => one.toJSON());
  };
  return { gateway, east, west, create, imageOf, listed, fairlead };
}

const refused = (work: Promise<unknown>, code: ProblemCode, detail = /./): Promise<void> =>
  assert.rejects(work, { code, detail });

test("a cluster restores another one's granted snapshot through its own controller, byte for byte", async t => {
  const { gateway, east, west, create, imageOf, listed, fairlead } = await open(t);
  const prod = await create(east, { name: 'prod', bytes: 8 * MiB });
  const bytes = randomBytes(8 * MiB);
  writeFileSync(imageOf(prod), bytes);
  const { snapshot } = await east.CreateSnapshot({ name: 'night', source_volume_id: prod });
  const snapshotId = snapshot?.snapshot_id ?? assert.fail('no snapshot');
  writeFileSync(imageOf(prod), randomBytes(8 * MiB));
  await refused(
    create(west, { name: 'early', bytes: 8 * MiB, source: { snapshot: { snapshot_id: snapshotId } } }),
    'NOT_FOUND',
  );
  assert.deepEqual(await listed(west, { snapshot_id: snapshotId }), []);

  const [content] = await fairlead(`admin grant ${snapshotId} b --kind snapshot`);
  const handle = content.spec.source.snapshotHandle;
  assert.deepEqual(await listed(west, { snapshot_id: handle }), [snapshotId]);
  for (const query of [{}, { source_volume_id: prod }]) assert.deepEqual(await listed(west, query), []);
  assert.equal((await west.GetSnapshot({ snapshot_id: handle })).snapshot?.ready_to_use, true);
  const staging = await create(west, {
    name: 'staging',
    bytes: 16 * MiB,
    source: { snapshot: { snapshot_id: handle } },
  });
  assert.equal(staging, 'b.staging');
  const restored = readFileSync(imageOf(staging));
  assert.equal(restored.length, 16 * MiB);
  assert.ok(restored.subarray(0, 8 * MiB).equals(bytes));

  await refused(
    create(west, { name: 'more', bytes: 32 * MiB, source: { snapshot: { snapshot_id: handle } } }),
    'RESOURCE_EXHAUSTED',
    /^the quota "bytes" of cluster "b" /,
  );
  await refused(
    west.DeleteSnapshot({ snapshot_id: handle }),
    'FAILED_PRECONDITION',
    /belongs to cluster "a"/,
  );
  await fairlead(`admin grant ${snapshotId} c --kind snapshot`);
  const source = { kind: 'snapshot', snapshotId } as const;
  const body = { name: 'wrong', capabilities: [mounted], source };
  await refused(
    gateway.clientOf('c').createVolume({ volumeId: 'c.wrong', body }, callWithin()),
    'FAILED_PRECONDITION',
    /^cluster "c" may not use pool "images", which has snapshot "a\.night"$/,
  );

  await fairlead(`admin revoke ${snapshotId} b --kind snapshot`);
  await refused(
    create(west, { name: 'late', bytes: 8 * MiB, source: { snapshot: { snapshot_id: handle } } }),
    'NOT_FOUND',
  );
  assert.deepEqual(await listed(west, { snapshot_id: handle }), []);
  assert.equal(
    await create(west, { name: 'staging', bytes: 16 * MiB, source: { snapshot: { snapshot_id: handle } } }),
    staging,
  );
  await east.DeleteSnapshot({ snapshot_id: snapshotId });
  await east.DeleteVolume({ volume_id: prod });
  assert.ok(readFileSync(imageOf(staging)).equals(restored));
  await west.DeleteVolume({ volume_id: staging });
});

test("a cluster clones another one's granted volume, which it cannot attach", async t => {
  const { east, west, create, imageOf, fairlead } = await open(t);
  const prod = await create(east, { name: 'prod', bytes: 4 * MiB });
  const bytes = randomBytes(4 * MiB);
  writeFileSync(imageOf(prod), bytes);
  await refused(
    create(west, { name: 'clone', bytes: 4 * MiB, source: { volume: { volume_id: prod } } }),
    'NOT_FOUND',
  );
  const [volume] = await fairlead(`admin grant ${prod} b --copy`);
  const clone = await create(west, {
    name: 'clone',
    bytes: 4 * MiB,
    source: { volume: { volume_id: volume.spec.csi.volumeHandle } },
  });
  assert.ok(readFileSync(imageOf(clone)).equals(bytes));
  const attach = west.ControllerPublishVolume({ volume_id: prod, node_id: 'n1', volume_capability: writer });
  await refused(attach, 'NOT_FOUND');
  await fairlead(`admin revoke ${prod} b --copy`);
  await refused(
    create(west, { name: 'late', bytes: 4 * MiB, source: { volume: { volume_id: prod } } }),
    'NOT_FOUND',
  );
  await east.DeleteVolume({ volume_id: prod });
  assert.ok(readFileSync(imageOf(clone)).equals(bytes));
});
