import type { IoLimits } from '../../src/api/attachments/io-limits.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { runToEnd } from '../host/commands.ts';
import { waitFor, writeLine } from '../host/sysfs.ts';
import type { Host } from '../host.ts';

const root = '/sys/fs/cgroup';
/** The slices of systemd or kubelet, of a class of service, and of a cluster in a container lie above a pod's cgroup. */
const maxDepth = 8;

/** The id of the pod in kubelet's target paths, of a mount and of a block device. */
const podPattern =
  /\/pods\/([0-9a-f-]{16,36})\/volumes\/|\/volumeDevices\/publish\/[^/]+\/([0-9a-f-]{16,36})$/;

/** The pod by its target path, and the number of the device that it uses there. */
type LimitedUse = { readonly targetPath: string; readonly number: string; readonly limits: IoLimits };

/**
 * Limits the reads and writes of a pod on a device by the pod's cgroup; its buffered writes count as well. The limit ends
 * with the pod. UNAVAILABLE until kubelet has made the cgroup, which does not wait for the pod's volumes.
 */
export async function limitPod(host: Host, { targetPath, number, limits }: LimitedUse): Promise<void> {
  const { iops = 'max', bytesPerSecond = 'max' } = limits;
  if (iops === 'max' && bytesPerSecond === 'max') return;
  const [, ofMount, ofDevice] = podPattern.exec(targetPath) ?? [];
  const pod = ofMount ?? ofDevice;
  if (pod === undefined)
    throw preconditionProblem(
      `the volume has limits of I/O, which are for pods, but target_path "${targetPath}" names none`,
    );
  const cgroup = await waitFor(() => findCgroup(host, pod));
  if (cgroup === undefined)
    throw unavailableProblem(`the volume has limits of I/O, but pod "${pod}" has no cgroup below "${root}"`);
  const path = `${cgroup}/io.max`;
  if (!(await host.isThere(path)))
    throw preconditionProblem(
      `the volume has limits of I/O, which need cgroup v2 with the controller "io", but "${path}" does not exist`,
    );
  const maxima = [`riops=${iops}`, `wiops=${iops}`, `rbps=${bytesPerSecond}`, `wbps=${bytesPerSecond}`];
  await writeLine(path, [number, ...maxima].join(' '), host);
}

/** Finds the cgroup of a pod. systemd's driver writes the id with underscores. */
async function findCgroup(host: Host, pod: string): Promise<string | undefined> {
  const names = ['(', '-name', `pod${pod}`, '-o', '-name', `*-pod${pod.replaceAll('-', '_')}.slice`, ')'];
  const args = [root, '-maxdepth', String(maxDepth), '-type', 'd', ...names, '-print', '-quit'];
  // Its status is a failure if another cgroup vanishes meanwhile.
  const { stdout } = await runToEnd(host, { command: 'find', args });
  return stdout.trim() || undefined;
}
