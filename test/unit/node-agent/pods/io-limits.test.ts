import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitPod } from '../../../../node-agent/pods/io-limits.ts';
import { createSysfsHost } from '../../../fakes/sysfs.ts';

const pod = '11111111-2222-4333-8444-555555555555';
const kubelet = '/var/lib/kubelet';
const mounted = `${kubelet}/pods/${pod}/volumes/kubernetes.io~csi/pvc-${'9'.repeat(8)}/mount`;
const raw = `${kubelet}/plugins/kubernetes.io/csi/volumeDevices/publish/pvc-1/${pod}`;
const cgroup = `/sys/fs/cgroup/kubepods/burstable/pod${pod}`;
const limits = { iops: 100 };

/** Makes a machine with the pod's cgroup, and records the lines that are written to it. */
function open() {
  const host = createSysfsHost();
  const written: string[] = [];
  host.put(`${cgroup}/io.max`, '');
  host.tools.set('find', args => ({ stdout: args.includes(`pod${pod}`) ? `${cgroup}\n` : '' }));
  host.writes.set(/io\.max$/, (_, text) => void written.push(text));
  return { host, written };
}

test("the pod of a mount or of a block device is limited on the volume's device alone", async () => {
  const { host, written } = open();
  await limitPod(host, { targetPath: mounted, number: '259:1', limits });
  await limitPod(host, { targetPath: raw, number: '7:0', limits: { bytesPerSecond: 65_536 } });
  await limitPod(host, { targetPath: '/elsewhere', number: '7:0', limits: {} });
  assert.deepEqual(written, [
    '259:1 riops=100 wiops=100 rbps=max wbps=max',
    '7:0 riops=max wiops=max rbps=65536 wbps=65536',
  ]);
});

test('a node that cannot limit a pod says why', async () => {
  const { host, written } = open();
  const other = mounted.replace(pod, pod.replace('1', '2'));
  await assert.rejects(limitPod(host, { targetPath: '/elsewhere', number: '7:0', limits }), {
    code: 'FAILED_PRECONDITION',
    detail: /target_path "\/elsewhere" names none/,
  });
  await assert.rejects(limitPod(host, { targetPath: other, number: '7:0', limits }), {
    code: 'UNAVAILABLE',
    detail: /has no cgroup/,
  });
  host.drop(`${cgroup}/io.max`);
  host.put(`${cgroup}/tasks`, '');
  await assert.rejects(limitPod(host, { targetPath: mounted, number: '7:0', limits }), {
    code: 'FAILED_PRECONDITION',
    detail: /cgroup v2 with the controller "io"/,
  });
  assert.deepEqual(written, []);
});
