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

/** Opens a machine and records the kernel's map options. */
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

test('an image is mapped with its own user and key, and by writers with its lock', async () => {
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

test('a mapped image needs no key, and an unmapped one is not mapped without one', async () => {
  const { host, attach } = open();
  const attachment = attach('v');
  await assert.rejects(rbd.connect(attachment, host), {
    code: 'INVALID_ARGUMENT',
    detail: 'secret "rbd-key" is missing; add it',
  });
  const device = await rbd.connect(attachment, host, secrets);
  assert.deepEqual(await rbd.connect(attachment, host), device);
});

test('a device is identified by its cluster, its pool and its image, and is no snapshot or partition', async () => {
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

test('an image that was replaced under its name is refused and unmapped', async () => {
  const { host, attach, left, ids, volumes } = openRbd();
  const attachment = attach('v');
  ids.set('v', 'id-new');
  volumes.set('id-new', { name: 'id-new', sizeBytes: 2 ** 20 });
  for (let i = 0; i < 2; i++)
    await assert.rejects(rbd.connect(attachment, host, secrets), {
      code: 'FAILED_PRECONDITION',
      detail: 'image "v" of pool "rbd" has the id "id-new" and not "id-v"',
    });
  assert.deepEqual(left(), []);
});

test('disconnect returns at once when the device disappears before it is unmapped', async () => {
  const { host, attach, given } = open();
  await rbd.connect(attach('v'), host, secrets);
  host.tools.set('blockdev', () => {
    host.drop('/sys/block/rbd0');
    return 0;
  });
  const { length } = given;
  await rbd.disconnect(attach('v'), host);
  assert.equal(given.length, length, 'nothing was unmapped: another device may have the number by now');
});

test('a text that could be an option is refused as a name or a key', async () => {
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
      detail: 'secret "rbd-key" is not a CephX key; copy the one that "ceph auth get-key" prints',
    });
  assert.deepEqual(host.lines, []);
});
