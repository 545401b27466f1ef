import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connectCsi, type CsiClient } from '../../../src/csi/client.ts';
import { startDev, type Dev } from '../../harness/dev.ts';
import { makeTemporaryDirectory, noRoot, removeTemporaryDirectory } from '../../harness/machine.ts';
import { controllerCases, createCases } from './bad-input/controller-cases.ts';
import { nodeCases } from './bad-input/node-cases.ts';
import { create, writer, type Place } from './bad-input/place.ts';

if (noRoot === false) {
  let dev: Dev;
  let place: Place;
  let clients: readonly CsiClient[] = [];
  const dir = makeTemporaryDirectory();

  before(async () => {
    const kubelet = join(dir, 'kubelet');
    mkdirSync(join(kubelet, 'staging'), { recursive: true });
    symlinkSync('/etc', join(kubelet, 'link'));
    dev = await startDev({ dir: join(dir, 'dev'), 'kubelet-dir': kubelet, 'log-level': 'error' });
    clients = [connectCsi(dev.controller), connectCsi(dev.node)];
    const [{ controller }, { node }] = clients as [CsiClient, CsiClient];
    const { volume } = await controller.CreateVolume({
      name: 'good',
      capacity_range: { required_bytes: 2 ** 28 },
      volume_capabilities: [writer],
    });
    const volume_id = volume?.volume_id ?? '';
    const { publish_context } = await controller.ControllerPublishVolume({
      volume_id,
      node_id: dev.nodeId,
      volume_capability: writer,
    });
    place = {
      controller,
      node,
      nodeId: dev.nodeId,
      volume_id,
      publish_context,
      staging_target_path: join(kubelet, 'staging'),
      kubelet,
    };
  });

  after(async () => {
    for (const client of clients) client.close();
    await dev.end();
    removeTemporaryDirectory(dir);
  });

  for (const [title, code, call] of [...createCases, ...controllerCases, ...nodeCases]) {
    test(`${title} is ${code}`, async () => {
      await assert.rejects(call(place), { code });
    });
  }

  test('a name of 128 bytes and names of odd characters make volumes of their own', async () => {
    const names = [
      'n'.repeat(128),
      `${'n'.repeat(127)}m`,
      'ä/../b',
      'ä/../c',
      'A',
      'a',
      ' ',
      '.',
      '..',
      '%2e',
    ];
    const ids = new Set<string>();
    for (const name of names) {
      const { volume } = await create(place, { name, capacity_range: { required_bytes: 2 ** 24 } });
      ids.add(volume?.volume_id ?? '');
    }
    assert.equal(ids.size, names.length);
    for (const id of ids) {
      assert.match(id, /^dev\.[A-Za-z0-9_.-]+$/);
      await place.controller.DeleteVolume({ volume_id: id });
    }
  });

  test('deleting and detaching what is not there succeeds', async () => {
    await place.controller.DeleteVolume({ volume_id: 'dev.unknown' });
    await place.controller.DeleteVolume({ volume_id: '../../etc/passwd' });
    await place.controller.ControllerUnpublishVolume({ volume_id: 'dev.unknown', node_id: place.nodeId });
    await place.controller.ControllerUnpublishVolume({ volume_id: '..', node_id: '' });
    await place.node.NodeUnpublishVolume({
      volume_id: 'dev.unknown',
      target_path: join(place.kubelet, 'nothing'),
    });
    await place.node.NodeUnstageVolume({
      volume_id: 'dev.unknown',
      staging_target_path: join(place.kubelet, 'nothing'),
    });
  });

  test('nothing without a token is told anything but 401', async () => {
    for (const path of [
      '/',
      '/v1/capabilities',
      '/v1/volumes',
      '/v1/volumes/dev.good',
      '/v1/nodes/x',
      '/openapi.json',
      '/healthz',
    ]) {
      const response = await fetch(dev.gateway + path);
      const body = (await response.json()) as Record<string, unknown>;
      assert.equal(response.status, 401, path);
      assert.equal(response.headers.get('content-type'), 'application/problem+json');
      assert.equal(body['code'], 'UNAUTHENTICATED');
      assert.deepEqual(Object.keys(body).sort(), ['code', 'detail', 'requestId', 'status', 'title', 'type']);
    }
  });
} else {
  test('bad input over the sockets', { skip: noRoot }, () => {});
}
