import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import type { ServiceError } from '@grpc/grpc-js';
import { decodeJwt, jwtVerify } from 'jose';
import type { Problem } from '../../../src/api/problem.ts';
import { hang, json, ownHost, problem, sampleVolume, startStorageApi } from '../../fakes/storage-api.ts';
import { signerOf } from '../../harness/gateway/signers.ts';
import { offered, runController } from '../../harness/controller.ts';

const create = {
  name: 'pvc-1',
  volume_capabilities: [{ block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } }],
};

test('a gateway on another machine is not called over plain HTTP unless a setting allows it', async t => {
  const gateway = 'http://gateway.invalid';
  await assert.rejects(runController(t, { gateway }), /not encrypted; use https, or --allow-http$/);
  await runController(t, { gateway, 'allow-http': 'true' });
  await runController(t, { gateway: 'https://gateway.invalid' });
});

test("a controller becomes ready, signs its requests, and passes the request's id to the API", async t => {
  const api = await startStorageApi(t, [json(200, offered), json(200, sampleVolume())]);
  const { csi, untilReady } = await runController(t, { gateway: api.url, issuer: 'me', audience: 'you' });
  await untilReady();
  const { volume } = await csi.controller.CreateVolume(create);
  assert.equal(volume?.volume_id, 'a.pvc-1');
  const request = api.received.at(-1);
  const token = request?.headers.authorization?.replace('Bearer ', '') ?? '';
  await jwtVerify(token, (await signerOf('a')).publicKey, {
    issuer: 'me',
    audience: 'you',
    algorithms: ['EdDSA'],
  });
  assert.match(String(request?.headers['x-request-id']), /^[0-9a-f]{12}$/);
});

test("the plug-in's capabilities are the settings', and differences from the storage are reported once known", async t => {
  const api = await startStorageApi(t, [
    json(200, { ...offered, features: ['groups', 'changes', 'topology'] }),
  ]);
  const { csi, logLines, untilReady } = await runController(t, {
    gateway: api.url,
    'plugin-capabilities': 'group-snapshots',
  });
  const { capabilities } = await csi.identity.GetPluginCapabilities({});
  const types = capabilities.map(({ service }) => service?.type);
  assert.deepEqual(types.filter(Boolean), ['CONTROLLER_SERVICE', 'GROUP_CONTROLLER_SERVICE']);
  assert.match((await csi.identity.GetPluginInfo({})).vendor_version, /^[0-9.]+\+group-snapshots$/);
  await untilReady();
  const warnings = logLines.filter(line => line.startsWith('warn '));
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /^warn the storage supports "topology"/);
});

test('a service outside the plug-in capabilities is missing, and the issuer is the cluster', async t => {
  const api = await startStorageApi(t, [json(200, offered)]);
  const { csi, untilReady } = await runController(t, { gateway: api.url, 'plugin-capabilities': 'none' });
  await untilReady();
  const group = csi.groupController.GroupControllerGetCapabilities({});
  await assert.rejects(group, { code: 'UNIMPLEMENTED' });
  const blocks = Array.fromAsync(csi.snapshotMetadata.GetMetadataAllocated({ snapshot_id: 'a.s' }));
  await assert.rejects(blocks, { code: 'UNIMPLEMENTED' });
  const token = api.received[0]?.headers.authorization?.replace('Bearer ', '') ?? '';
  assert.partialDeepStrictEqual(decodeJwt(token), { iss: 'a', aud: 'fairlead' });
});

test('a controller whose gateway is down starts, is not ready, says why, and recovers when it answers, even after invalid answers', async t => {
  const address = { host: ownHost(), port: 0 };
  const down = await startStorageApi(t, [json(200, offered)], address);
  await down.close();
  const { csi, untilReady } = await runController(t, { gateway: down.url });
  assert.equal((await csi.identity.Probe({})).ready?.value, false);
  assert.equal((await csi.identity.GetPluginInfo({})).name, 'csi.fairlead.dev');
  await assert.rejects(csi.controller.ControllerGetCapabilities({}), {
    code: 'UNAVAILABLE',
    detail: /the gateway has not reported its capabilities/,
  });
  const page = { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>' };
  const script = [page, json(200, { backend: 'x' }), json(200, { ...offered, features: [] })];
  await startStorageApi(t, script, { ...address, port: down.port });
  await untilReady();
  const { capabilities } = await csi.controller.ControllerGetCapabilities({});
  const types = capabilities.map(({ rpc }) => rpc?.type);
  assert.ok(types.includes('CREATE_DELETE_VOLUME') && !types.includes('GET_CAPACITY'), String(types));
});

test("an API error arrives at the socket with its code, its detail and the request's id, the same each time", async t => {
  const api = await startStorageApi(t, [
    json(200, offered),
    problem('OUT_OF_RANGE', 'a volume has at most 5 bytes'),
  ]);
  const { csi, untilReady } = await runController(t, { gateway: api.url });
  await untilReady();
  const detail = 'a volume has at most 5 bytes';
  for (let round = 0; round < 2; round++)
    await assert.rejects(csi.controller.CreateVolume(create), ({ code, detail: found, cause }: Problem) => {
      assert.deepEqual([code, found], ['OUT_OF_RANGE', detail]);
      const asked = api.received.at(-1)?.headers['x-request-id'];
      assert.deepEqual((cause as ServiceError).metadata.get('x-request-id'), [asked]);
      return true;
    });
});

test('failed calls of the gateway and failed RPCs are counted, and the log gives the reason', async t => {
  const api = await startStorageApi(t, [json(200, offered), problem('INTERNAL', 'the array has no quorum')]);
  const flags = { gateway: api.url, 'metrics-listen': '127.0.0.1:0' };
  const { csi, ready, logLines, untilReady } = await runController(t, flags);
  await untilReady();
  await assert.rejects(csi.controller.CreateVolume(create), { code: 'INTERNAL' });
  const metrics = await (await fetch(`http://${ready['health']}/metrics`)).text();
  for (const line of [
    'fairlead_controller_gateway_calls_total{operation="createVolume",code="INTERNAL"} 1',
    'fairlead_controller_rpcs_total{rpc="CreateVolume",code="INTERNAL"} 1',
  ])
    assert.ok(metrics.split('\n').includes(line), metrics);
  assert.match(logLines.join('\n'), /the array has no quorum/);
});

test('a controller is healthy while its socket answers, even without its gateway, and unhealthy once the socket is gone', async t => {
  const api = await startStorageApi(t, [hang]);
  const { ready, socketPath } = await runController(t, { gateway: api.url, 'metrics-listen': '127.0.0.1:0' });
  const ask = async () => (await fetch(`http://${ready['health']}/healthz`)).status;
  assert.equal(await ask(), 200);
  rmSync(socketPath);
  assert.equal(await ask(), 503);
});

test('a controller ends even if its gateway accepts connections and never answers', async t => {
  const api = await startStorageApi(t, [hang]);
  const { close, socketPath } = await runController(t, { gateway: api.url });
  await api.until(1);
  await close();
  assert.equal(existsSync(socketPath), false);
});
