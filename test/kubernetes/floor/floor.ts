import { join, resolve } from 'node:path';
import { waitFor } from '../cluster/wait.ts';
import type { Installation } from '../installation/installation.ts';
import { floorDriver } from './driver.ts';

const node = resolve(import.meta.dirname, '../../../node_modules/.bin/node');
const socket = `/var/lib/kubelet/plugins/${floorDriver}/csi.sock`;

/** The storage class of the driver's volumes. */
export const floorClass = 'floor';

/**
 * Runs the driver that does nothing on the first node, with the stock provisioner and attacher, during `work`. The time
 * of a pod with such a volume is the share of Kubernetes and the sidecars.
 */
export async function withFloor<T>({ site, east }: Installation, work: () => Promise<T>): Promise<T> {
  const { cluster, nodes } = east;
  const [first] = nodes;
  if (first === undefined) throw new Error('no node');
  const metadata = { name: floorDriver };
  await cluster.apply(
    { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata, spec: { attachRequired: true } },
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: floorClass },
      provisioner: floorDriver,
      volumeBindingMode: 'WaitForFirstConsumer',
    },
  );
  const start = (name: string, ...argv: readonly string[]) => first.namespace.start(`floor-${name}`, argv);
  const driver = start(
    'driver',
    node,
    join(import.meta.dirname, 'driver.ts'),
    '/var/lib/kubelet',
    first.name,
  );
  const drivers = ['get', 'csinode', first.name, '--output', 'jsonpath={.spec.drivers[*].name}'];
  const isRegistered = async () => (await cluster.kubectl(...drivers)).includes(floorDriver) || undefined;
  await waitFor('the driver that does nothing', isRegistered, driver);
  const sidecar = (name: string) =>
    start(
      name,
      join(site.bin, name),
      `--csi-address=${socket}`,
      `--kubeconfig=${cluster.credentials.kubeconfigOf('admin')}`,
      '--worker-threads=50',
      '--kube-api-qps=50',
      '--kube-api-burst=100',
    );
  const sidecars = [sidecar('csi-provisioner'), sidecar('csi-attacher')];
  const result = await work();
  for (const program of [...sidecars, driver]) await program.end();
  await cluster.kubectl('delete', `storageclass/${floorClass}`, `csidriver/${floorDriver}`);
  return result;
}
