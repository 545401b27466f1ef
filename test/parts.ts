import { execFileSync } from 'node:child_process';

/** A part of the full tier that is run and skipped as a whole. */
export type Part = {
  readonly files: readonly string[];
  /** Its time in seconds on two cores, while one other part runs. */
  readonly seconds: number;
  /** The folders and files that its tests prove; a change in one of them selects the part. */
  readonly proves: readonly string[];
};

const exported = [
  'gateway/exports/',
  'gateway/export.ts',
  'gateway/local/',
  'gateway/attachments/',
  'test/vm/',
];
const onNodes = ['node-agent/volumes/', 'node-agent/host/', 'node-agent/state/'];
const plugins = ['node-agent/format/', 'node-agent/filesystems/', 'node-agent/connectors/'];
const stores = ['gateway/stores/', 'gateway/store.ts', 'gateway/tables/', 'gateway/operations/'];
const ceph = ['gateway/backends/ceph', 'test/storage/'];
const zfs = ['gateway/backends/zfs', 'gateway/local/', 'test/zfs/'];
const vendor = ['gateway/backends/rest', 'src/sdk/', 'src/kit/', 'src/api/', 'examples/'];

/**
 * The parts of the full tier with files that take minutes; the part `others` has its remaining files. The longest parts
 * come first. Virtual machines, which compute, alternate with storage systems and loops, which mostly wait.
 */
export const parts: Readonly<Record<string, Part>> = {
  'fleet-boxes': { files: ['test/vm/fleet/boxes.test.ts'], seconds: 560, proves: exported },
  'kills-node': {
    files: [
      'test/machine/node-agent/kill.test.ts',
      'test/machine/node-agent/restart.test.ts',
      'test/unit/node-agent/volumes/faults.test.ts',
    ],
    seconds: 220,
    proves: [...onNodes, ...plugins],
  },
  'ceph-shares': { files: ['test/storage/ceph-shares.test.ts'], seconds: 450, proves: ceph },
  'fleet-shares': {
    files: ['test/vm/fleet/shares/shares.test.ts'],
    seconds: 600,
    proves: ['gateway/exports/nfs', 'gateway/backends/dir', 'node-agent/connectors/nfs.ts', 'test/zfs/'],
  },
  'fleet-exports': { files: ['test/vm/fleet/exports.test.ts'], seconds: 400, proves: exported },
  postgres: {
    files: [
      'test/machine/gateway/stores/postgres-retries.test.ts',
      'test/machine/gateway/stores/postgres-services.test.ts',
      'test/machine/gateway/stores/postgres-kills.test.ts',
    ],
    seconds: 180,
    proves: stores,
  },
  'ceph-volumes': {
    files: ['test/storage/ceph-backend.test.ts'],
    seconds: 200,
    proves: ceph,
  },
  scsi: {
    files: ['test/vm/scsi.test.ts'],
    seconds: 120,
    proves: ['node-agent/connectors/iscsi', 'gateway/exports/iscsi.ts', 'gateway/local/', 'node-agent/host/'],
  },
  'cinder-nodes': {
    files: ['test/storage/cinder-nodes.test.ts'],
    seconds: 170,
    proves: ['examples/cinder/', 'test/cinder/', 'node-agent/connectors/rbd.ts'],
  },
  'cinder-lvm': {
    files: ['test/storage/cinder/lvm.test.ts'],
    seconds: 250,
    proves: ['examples/cinder/', 'test/cinder/', 'node-agent/connectors/iscsi'],
  },
  cinder: {
    files: ['test/storage/cinder.test.ts'],
    seconds: 900,
    proves: ['examples/cinder/', 'test/cinder/', 'src/sdk/'],
  },
  'cinder-kills': {
    files: ['test/storage/cinder/crash.test.ts', 'test/storage/cinder/model.test.ts'],
    seconds: 900,
    proves: ['examples/cinder/', 'test/cinder/', 'gateway/backends/rest'],
  },
  ember: {
    files: ['test/storage/ember/kit.test.ts'],
    seconds: 500,
    proves: ['test/ember/', 'src/bridge/', 'src/sdk/'],
  },
  bridge: {
    files: ['test/machine/bridge/bridge.test.ts'],
    seconds: 520,
    proves: ['src/bridge/', 'node-agent/drivers/', 'src/sdk/'],
  },
  'bridge-data': {
    files: ['test/machine/bridge/data.test.ts'],
    seconds: 450,
    proves: ['src/bridge/', 'node-agent/drivers/', 'src/kit/'],
  },
  'bridge-kills': {
    files: ['test/machine/bridge/crash.test.ts', 'test/machine/bridge/model.test.ts'],
    seconds: 900,
    proves: ['src/bridge/', 'gateway/backends/rest'],
  },
  'ceph-nodes': {
    files: ['test/storage/ceph-nodes.test.ts', 'test/storage/ceph-sanity.test.ts'],
    seconds: 200,
    proves: [...ceph, 'node-agent/connectors/rbd.ts', 'node-agent/connectors/cephfs'],
  },
  'fleet-thin-volumes': {
    files: ['test/vm/fleet/boxes/thin-volumes.test.ts'],
    seconds: 420,
    proves: [...exported, 'gateway/backends/lvm'],
  },
  'fleet-zvols': {
    files: ['test/vm/fleet/boxes/zvols.test.ts'],
    seconds: 480,
    proves: [...exported, ...zfs],
  },
  'fleet-server': {
    files: ['test/vm/fleet/storage-server.test.ts'],
    seconds: 100,
    proves: ['docs/guides/storage-server.md', 'deploy/systemd/', 'deploy/release/', ...exported],
  },
  lvm: {
    files: ['test/vm/lvm/lvm.test.ts'],
    seconds: 450,
    proves: ['gateway/backends/lvm', 'gateway/local/'],
  },
  'lvm-crashes': {
    files: ['test/vm/lvm/crashes.test.ts'],
    seconds: 300,
    proves: ['gateway/backends/lvm', 'gateway/local/'],
  },
  'lvm-many': {
    files: ['test/vm/lvm/many.test.ts'],
    seconds: 800,
    proves: ['gateway/backends/lvm', 'gateway/local/'],
  },
  zfs: { files: ['test/vm/zfs/zfs.test.ts'], seconds: 300, proves: zfs },
  'zfs-crashes': { files: ['test/vm/zfs/crashes.test.ts'], seconds: 650, proves: zfs },
  'zfs-many': { files: ['test/vm/zfs/many.test.ts'], seconds: 1_000, proves: zfs },
  'zfs-exports': { files: ['test/vm/zfs/exports.test.ts'], seconds: 650, proves: [...zfs, ...exported] },
  'zfs-shares': {
    files: ['test/vm/zfs/shares.test.ts'],
    seconds: 500,
    proves: ['gateway/backends/dir', 'test/zfs/'],
  },
  disks: {
    files: ['test/vm/disks.test.ts', 'test/vm/harness.test.ts'],
    seconds: 90,
    proves: [...onNodes, 'node-agent/format/', 'node-agent/filesystems/', 'node-agent/connectors/device.ts'],
  },
  limits: {
    files: ['test/vm/limits/limits.test.ts'],
    seconds: 240,
    proves: ['node-agent/pods/', 'node-agent/volumes/publish.ts'],
  },
  'nvme-keys': {
    files: ['test/vm/newer-kernel/keys.test.ts'],
    seconds: 240,
    proves: ['node-agent/connectors/nvme-tcp', 'gateway/exports/nvme-tcp.ts', 'test/newer-kernel/'],
  },
  console: {
    files: [
      'test/browser/console.test.ts',
      'test/browser/actions.test.ts',
      'test/browser/pages.test.ts',
      'test/browser/incidents.test.ts',
      'test/browser/screens.test.ts',
    ],
    seconds: 180,
    proves: ['gateway/console/', 'gateway/http/console.ts', 'src/cli/', 'test/browser/'],
  },
  'docs-site': {
    files: ['test/browser/docs-site.test.ts'],
    seconds: 60,
    proves: ['docs/', 'examples/', 'README.md', 'AGENTS.md', 'CHANGELOG.md'],
  },
  kit: { files: ['test/machine/kit/kit.test.ts'], seconds: 600, proves: vendor },
  hypervisor: {
    files: ['test/vm/hypervisor.test.ts'],
    seconds: 160,
    proves: ['gateway/exports/libvirt', 'gateway/local/targets/', 'node-agent/connectors/device.ts'],
  },
  'hypervisor-devices': {
    files: ['test/vm/hypervisor/devices.test.ts'],
    seconds: 500,
    proves: ['gateway/exports/libvirt', 'gateway/backends/lvm', 'gateway/backends/zfs'],
  },
  'fleet-sanity': {
    files: ['test/vm/fleet/sanity.test.ts'],
    seconds: 450,
    proves: ['src/csi/', 'src/controller/', 'node-agent/connectors/nvme-tcp', ...onNodes],
  },
  shares: {
    files: ['test/vm/shares.test.ts', 'test/vm/selinux.test.ts'],
    seconds: 90,
    proves: ['node-agent/connectors/nfs.ts', 'node-agent/volumes/carriers/', 'gateway/backends/dir.ts'],
  },
  'ceph-crashes': { files: ['test/storage/ceph-crashes.test.ts'], seconds: 120, proves: ceph },
  install: {
    files: ['test/install/minimal.test.ts'],
    seconds: 400,
    proves: [
      'README.md',
      'docs/guides/',
      'deploy/install-tools.sh',
      'deploy/set-up.sh',
      'deploy/release/',
      'gateway/preflight.ts',
      'package-lock.json',
    ],
  },
  'image-elsewhere': { files: ['test/install/arm64.test.ts'], seconds: 120, proves: ['deploy/image/'] },
  image: {
    files: ['test/install/image.test.ts'],
    seconds: 130,
    proves: [
      'deploy/image/',
      'deploy/console.ts',
      'deploy/steps.ts',
      'docs/guides/image.md',
      'package-lock.json',
    ],
  },
  packages: {
    files: [
      'test/install/release.test.ts',
      'test/install/package.test.ts',
      'test/install/vendor-guide.test.ts',
    ],
    seconds: 115,
    proves: [
      'deploy/release/',
      'deploy/steps.ts',
      'src/sdk/',
      'examples/',
      'docs/guides/vendor.md',
      'package-lock.json',
    ],
  },
  sanity: {
    files: ['test/conformance/csi-sanity.test.ts'],
    seconds: 90,
    proves: ['src/csi/', 'src/controller/', 'src/api/', 'node-agent/', 'examples/'],
  },
  skew: {
    files: ['test/machine/dev/skew.test.ts'],
    seconds: 60,
    proves: [
      'src/api/',
      'src/csi/',
      'src/controller/',
      'gateway/tables/',
      'gateway/http/',
      'node-agent/state/',
    ],
  },
  document: {
    files: ['test/conformance/schemathesis.test.ts'],
    seconds: 240,
    proves: ['src/api/', 'gateway/http/'],
  },
  replicas: {
    files: [
      'test/machine/gateway/replicas/kills.test.ts',
      'test/machine/gateway/replicas/limits.test.ts',
      'test/database/patroni.test.ts',
      'test/database/rollout.test.ts',
    ],
    seconds: 300,
    proves: [...stores, 'gateway/pools/', 'gateway/main.ts', 'deploy/chart/'],
  },
  vendors: {
    files: ['test/machine/gateway/rest/model.test.ts', 'test/machine/gateway/rest/crash.test.ts'],
    seconds: 130,
    proves: vendor,
  },
};

/**
 * Sorts the names of parts: first the parts that prove a changed file, then the others. Each day begins with another
 * part, so that the parts take turns in the time that the first ones leave.
 */
export function orderParts(
  all: Readonly<Record<string, Part>>,
  { changed, day }: { readonly changed: readonly string[]; readonly day: number },
): readonly string[] {
  const names = Object.keys(all);
  const first = day % names.length;
  const inTurn = [...names.slice(first), ...names.slice(0, first)];
  const isTouched = (name: string): boolean =>
    all[name]?.proves.some(path => changed.some(file => file.startsWith(path))) === true;
  return [...inTurn.filter(isTouched), ...inTurn.filter(name => !isTouched(name))];
}

type PartRun = {
  /** The names in order, with the seconds that each usually takes. */
  readonly inOrder: readonly (readonly [name: string, seconds: number])[];
  /** The time for all parts, in seconds. */
  readonly limit: number;
  /** The number of parts that run at a time. */
  readonly slots: number;
  /** Runs a part and returns its time in seconds, without the time for fetching its programs. */
  readonly run: (name: string) => Promise<number>;
  /** The clock, in seconds. */
  readonly now: () => number;
};

/**
 * Runs the parts that will probably end in time, and returns the names of the others. It expects each part to be slower than
 * usual by the same factor as the slowest part that has ended.
 */
export async function runParts({ inOrder, limit, slots, run, now }: PartRun): Promise<readonly string[]> {
  const start = now();
  const waiting = new Map(inOrder);
  let slowness = 1;
  const work = async (): Promise<void> => {
    for (;;) {
      const leftSeconds = limit - (now() - start);
      const next = [...waiting].find(([, seconds]) => seconds * slowness <= leftSeconds);
      if (!next) return;
      const [name, seconds] = next;
      waiting.delete(name);
      slowness = Math.max(slowness, (await run(name)) / seconds);
    }
  };
  await Promise.all(Array.from({ length: slots }, work));
  return [...waiting.keys()];
}

/** Lists the files that the commits of the last day touch; none if there is no git history. */
export function changedLately(): readonly string[] {
  try {
    const log = ['log', '--since=1 day ago', '--name-only', '--format='];
    return execFileSync('git', log, { encoding: 'utf8' }).split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

/** Days since the epoch. */
export function today(): number {
  return Math.floor(Date.now() / 86_400_000);
}
