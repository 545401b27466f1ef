import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rbd } from '../../../../node-agent/connectors/rbd.ts';
import { testConnector, testConnectorFaults } from '../../../suites/connector.ts';
import { fsid, openRbd } from './worlds.ts';

const key = 'AQCanaryCanaryCanaryCanaryCanaryCanaryA==';
const secrets = { 'rbd-key': key };

testConnector({
  name: 'rbd',
  connector: { ...rbd, connect: (attachment, host) => rbd.connect(attachment, host, secrets) },
  open: openRbd,
});
testConnectorFaults({ name: 'rbd', connector: rbd, open: openRbd, secrets, canary: /Canary/ });

/** A machine, and what the kernel is given to map. */
function open() {
  const world = openRbd();
  const given: string[] = [];
  const tee = world.host.tools.get('tee');
  world.host.tools.set('tee', (args, input) => {
    given.push(input);
    return tee?.(args, input) ?? 1;
  });
  return { ...world, given };
}

test('an image is mapped with its own user and key, and by whoever may write with its lock', async () => {
  const { host, attach, given } = open();
  await rbd.connect(attach('v'), host, secrets);
  await rbd.connect({ ...attach('w'), readonly: true, mode: 'secure' }, host, secrets);
  const monitors = '192.0.2.7:6789,[2001:db8::7]:6789';
  const options = `name=fairlead.1,secret=${key},_pool_ns=fairlead.c`;
  assert.deepEqual(given, [
    `${monitors} ${options},lock_on_read rbd v -`,
    `${monitors} ${options},ms_mode=secure rbd w -`,
  ]);
  assert.deepEqual(host.lines, [
    'modprobe --quiet -- rbd',
    'tee -- /sys/bus/rbd/add_single_major',
    'tee -- /sys/bus/rbd/add_single_major',
    'blockdev --setro /dev/rbd1',
  ]);
});

test('what is mapped already needs no key, and what is not is not mapped without', async () => {
  const { host, attach } = open();
  const attachment = attach('v');
  await assert.rejects(rbd.connect(attachment, host), {
    code: 'INVALID_ARGUMENT',
    detail: 'secret "rbd-key" is missing',
  });
  const device = await rbd.connect(attachment, host, secrets);
  assert.deepEqual(await rbd.connect(attachment, host), device);
});

test('a device is known by its cluster, its pool and its image, and is no snapshot nor partition', async () => {
  const { host, attach } = open();
  const attachment = attach('v');
  const { number } = await rbd.connect(attachment, host, secrets);
  const rows = [
    ['device/cluster_fsid', fsid.replaceAll('1', '2')],
    ['device/pool', 'other'],
    ['device/image_id', 'id-v0'],
    ['device/current_snap', 's'],
    ['partition', '1'],
  ] as const;
  for (const [file, fact] of rows) {
    const path = `/sys/block/rbd0/${file}`;
    const before = host.get(path);
    host.put(path, fact);
    assert.equal(await rbd.owns(attachment, number, host), false, file);
    host.drop(path);
    if (before !== undefined) host.put(path, before);
    assert.equal(await rbd.owns(attachment, number, host), true, file);
  }
});

test('nothing that could be an option is taken for a name or a key', async () => {
  const { host, attach } = open();
  const attachment = attach('v');
  for (const bad of ['a,b', 'a b', '', 'a/b', '-a', 'a@b', 'a\nb'])
    for (const field of ['fsid', 'pool', 'namespace', 'image', 'imageId', 'user', 'mode'])
      await assert.rejects(rbd.connect({ ...attachment, [field]: bad }, host, secrets), {
        code: 'INVALID_ARGUMENT',
      });
  for (const bad of [`${key},ro`, `${key}\n`, 'short', `${key} rbd other -`])
    await assert.rejects(rbd.connect(attachment, host, { 'rbd-key': bad }), {
      code: 'INVALID_ARGUMENT',
      detail: 'secret "rbd-key" is no key of CephX',
    });
  assert.deepEqual(host.lines, []);
});
