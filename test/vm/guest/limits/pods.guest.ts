import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmdirSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, test, type TestContext } from 'node:test';
import type { IoLimits } from '../../../../src/api/attachments/io-limits.ts';
import { stackOf } from '../../../harness/temporary.ts';
import { local, MiB, startGuestNode, untilSeen } from '../agent.ts';

const root = '/sys/fs/cgroup';
/** The machine's disk, on which all volumes are. */
const place = '/volumes';
const seconds = 8;

before(() => {
  execFileSync('modprobe', ['-a', 'virtio_blk', 'xfs']);
  mkdirSync(place);
  execFileSync('mkfs.xfs', ['-q', '/dev/vda']);
  execFileSync('mount', ['/dev/vda', place]);
});

/** Makes the cgroup of a pod as kubelet does with this driver, and returns the cgroup of its container. */
function makePod(t: TestContext, uid: string, driver: 'systemd' | 'cgroupfs'): string {
  const parts =
    driver === 'systemd'
      ? [
          'kubepods.slice',
          'kubepods-burstable.slice',
          `kubepods-burstable-pod${uid.replaceAll('-', '_')}.slice`,
        ]
      : ['kubepods', 'burstable', `pod${uid}`];
  let path = root;
  for (const part of [...parts, 'container']) {
    writeFileSync(join(path, 'cgroup.subtree_control'), '+io +memory');
    path = join(path, part);
    mkdirSync(path, { recursive: true });
  }
  stackOf(t).defer(() => {
    rmdirSync(path);
    rmdirSync(dirname(path));
  });
  return path;
}

/** Starts a node and volumes on one disk, each for its own pod. */
async function open(t: TestContext) {
  const node = await startGuestNode(t, { ...local, 'local-roots': place });
  return {
    node,
    /** Brings a volume up for a pod and returns its fields and the cgroup of the pod's container. */
    async start(name: string, limits: IoLimits, driver: 'systemd' | 'cgroupfs' = 'systemd') {
      const uid = crypto.randomUUID();
      const path = join(place, `${name}.img`);
      writeFileSync(path, '');
      truncateSync(path, 128 * MiB);
      const common = { attachmentId: `attachment-${name}`, sizeBytes: 128 * MiB, readonly: false };
      const attachment = { protocol: 'loop', path, mayFormat: true, ...common, ...limits } as const;
      const target_path = `${node.bench.directory}/pods/${uid}/volumes/kubernetes.io~csi/${name}/mount`;
      mkdirSync(dirname(target_path), { recursive: true });
      const fields = { ...node.volumeAt({ name, attachment }), target_path, volume_path: target_path };
      const container = makePod(t, uid, driver);
      await node.bringUp(fields);
      stackOf(t).defer(() => node.takeDown(fields));
      return { fields, container };
    },
  };
}

/** Starts a program in the container, which writes or reads a file of the volume until it is killed. */
function startInPod(container: string, script: string): ChildProcess {
  const line = `echo $$ > ${container}/cgroup.procs && ${script}`;
  return spawn('sh', ['-c', line], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Reads the bytes and the operations that the cgroup's pod has done on its devices. */
function usage(container: string): Readonly<Record<string, number>> {
  const text = readFileSync(join(dirname(container), 'io.stat'), 'latin1');
  const entries = [...text.matchAll(/(\w+)=(\d+)/g)].map(
    ([, name = '', value]) => [name, Number(value)] as const,
  );
  return Object.fromEntries(entries);
}

/** Measures how much a counter of the pod grows in a second: the mean over some seconds. */
async function rateOf(container: string, counter: string, length = seconds): Promise<number> {
  const [start, atMs] = [usage(container)[counter] ?? 0, performance.now()];
  await new Promise(resolve => setTimeout(resolve, length * 1_000));
  return ((usage(container)[counter] ?? 0) - start) / ((performance.now() - atMs) / 1_000);
}

/** Ends a program and all that it started. */
async function end(container: string, child: ChildProcess): Promise<void> {
  const ended = once(child, 'close');
  writeFileSync(join(container, 'cgroup.kill'), '1');
  await ended;
  await untilSeen(() => readFileSync(join(container, 'cgroup.events'), 'latin1').includes('populated 0'));
}

const direct = (path: string, size: string): string =>
  `while :; do dd if=/dev/zero of=${path}/file bs=${size} count=64 oflag=direct conv=notrunc status=none; done`;
const buffered = (path: string): string =>
  `while :; do dd if=/dev/zero of=${path}/file bs=1M count=8 conv=fsync,notrunc status=none; done`;

for (const { what, limits, counter, script, length } of [
  {
    what: 'bytes of direct writes',
    limits: { bytesPerSecond: MiB },
    counter: 'wbytes',
    script: direct,
    length: seconds,
  },
  {
    what: 'bytes of buffered writes',
    limits: { bytesPerSecond: MiB },
    counter: 'wbytes',
    script: buffered,
    // They reach the device in bursts of 8 MiB, as much as the program writes between two calls of fsync.
    length: 5 * seconds,
  },
  { what: 'operations', limits: { iops: 20 }, counter: 'wios', script: direct, length: seconds },
] as const)
  for (const driver of ['systemd', 'cgroupfs'] as const)
    test(`a pod's ${what} keep to the limit of its volume (${driver})`, async t => {
      const { start } = await open(t);
      const { fields, container } = await start('one', limits, driver);
      const child = startInPod(container, script(fields.target_path, counter === 'wios' ? '4k' : '256k'));
      stackOf(t).defer(() => end(container, child));
      const limit = Object.values<number>(limits)[0] ?? 0;
      // The kernel lets a burst pass at first.
      await rateOf(container, counter);
      const ratio = (await rateOf(container, counter, length)) / limit;
      t.diagnostic(`${what}: ${ratio.toFixed(2)} of the limit over ${length} s (${driver})`);
      assert.ok(ratio > 0.5 && ratio < 1.3, `${ratio} of the limit`);
    });

test('a volume with limits is not published to a target path of no pod, nor before the pod has a cgroup', async t => {
  const { node, start } = await open(t);
  const { fields } = await start('one', { iops: 100 });
  const again = (target_path: string) => {
    mkdirSync(dirname(target_path), { recursive: true });
    return node.client.node.NodePublishVolume({ ...fields, target_path });
  };
  await node.client.node.NodeUnpublishVolume(fields);
  await assert.rejects(again(`${node.bench.directory}/elsewhere/mount`), {
    code: 'FAILED_PRECONDITION',
    detail: /names none/,
  });
  const other = fields.target_path.replace(/pods\/[^/]+/, `pods/${crypto.randomUUID()}`);
  await assert.rejects(again(other), { code: 'UNAVAILABLE', detail: /has no cgroup/ });
});

/** Measures the time of a read of the neighbour, in milliseconds: the mean over some seconds. */
async function readLatency({ container, path }: { readonly container: string; readonly path: string }) {
  const read = `dd if=${path}/file of=/dev/null bs=4k count=1 iflag=direct status=none`;
  const child = startInPod(container, `while :; do ${read}; echo; done`);
  let reads = 0;
  child.stdout?.on('data', (lines: Buffer) => (reads += lines.length));
  await new Promise(resolve => setTimeout(resolve, seconds * 1_000));
  await end(container, child);
  return (seconds * 1_000) / reads;
}

test('a limited writer keeps to its limit beside a neighbour that reads from the same disk', async t => {
  const { start, node } = await open(t);
  const neighbour = await start('neighbour', {});
  node.write(neighbour.fields, 'x'.repeat(4_096));
  const reader = { container: neighbour.container, path: neighbour.fields.target_path };
  const alone = await readLatency(reader);
  const times: string[] = [];
  const limited = { bytesPerSecond: MiB };
  for (const [name, limits] of Object.entries({ unlimited: {}, limited })) {
    const { container, fields } = await start(name, limits);
    const child = startInPod(container, direct(fields.target_path, '256k'));
    const reading = readLatency(reader);
    const rate = await rateOf(container, 'wbytes');
    times.push(`beside the ${name} writer ${((await reading) / alone).toFixed(2)} times`);
    await end(container, child);
    if (name === 'limited') assert.ok(rate < 1.5 * limited.bytesPerSecond, `${rate} bytes a second`);
  }
  t.diagnostic(`the neighbour's read takes ${times.join(', ')} as long as alone`);
});
