import type { Pool } from './drivers.ts';

/** Specs that this setting cannot run. */
export type Exception = {
  /** Matches the names of the specs. */
  readonly specs: RegExp;
  readonly reason: string;
  /** True if the run leaves them out, because they would fail; by default the suite has to skip them by itself. */
  readonly isLeftOut?: boolean;
};

const forBoth: readonly Exception[] = [
  { specs: /\(ntfs\)/, reason: 'nodes with Windows have these volumes' },
  { specs: /\(ext3\)/, reason: 'Fairlead makes no ext3' },
  {
    specs: /: (Inline-volume|Pre-provisioned PV) /,
    reason: 'only drivers inside Kubernetes have these volumes',
  },
  { specs: /: CSI Ephemeral-volume /, reason: 'Fairlead has no inline volumes' },
  {
    specs: /\(filesystem volmode\).* different volume mode/,
    reason: 'the suite plays these specs with the pattern for block volumes',
  },
  { specs: /seLinuxMount/, reason: 'the kernel of the test machine may have no SELinux' },
  { specs: /volumeLimits/, reason: 'other specs need more volumes on a node than a limit would allow' },
  { specs: /performance constraints/, reason: 'figures are in docs/bench' },
  { specs: /: SnapshotMetadata/, reason: 'the clusters have no sidecar for snapshot metadata' },
  {
    specs: /\(default fs\)\] provisioning .* any volume data source/,
    reason: 'no Go module has the program of the image that fills the volume',
    isLeftOut: true,
  },
];

const own: Readonly<Record<Pool, readonly Exception[]>> = {
  image: [
    { specs: /\(ROX mode\)/, reason: 'the suite asks for filesystems on several nodes' },
    {
      specs: /\(filesystem volmode\)\] multiVolume .* restored snapshot/,
      reason: 'the suite plays these specs with the patterns that have a kind of snapshot',
    },
    { specs: /volumegroupsnapshot/, reason: 'images have no group snapshots' },
    { specs: /concurrently .* from pods on different node/, reason: 'an image is attached to one node' },
    { specs: /\(immediate-binding\)/, reason: 'the suite skips these where nodes have topology' },
    {
      specs: /\(block volmode\).* read-only inline ephemeral/,
      reason: 'Kubernetes has no read-only block volumes',
    },
    {
      specs:
        /\(block volmode\)\] provisioning .*(mount options|any volume|correct filesystem size|multiple PV)/,
      reason: 'it needs a filesystem',
    },
    {
      specs: /: (Dynamic|Pre-provisioned) Snapshot .*\(ephemeral\)|: Ephemeral Snapshot .*\(persistent\)/,
      reason: 'these specs are for persistent volumes alone, or for ephemeral ones alone',
    },
    { specs: /topologies that conflict/, reason: 'all nodes of the cluster have the same topology' },
  ],
  dir: [
    { specs: /\(block volmode\)(?!.* fail in binding)/, reason: 'directories are no devices' },
    { specs: /volumeMode .* mismatched mode/, reason: 'it needs a block volume as well' },
    { specs: /\((ext4|xfs)\)/, reason: 'directories have no filesystem of their own' },
    {
      specs: /\(immediate-binding\)\] ephemeral should support multiple/,
      reason: 'the suite plays it with late binding',
    },
    { specs: /\] topology /, reason: 'the pool is reachable everywhere' },
    { specs: /[Ss]napshot/, reason: 'directories have no snapshots' },
    { specs: /pvc data source|and its clone/, reason: 'directories have no clones' },
    { specs: /volume-modify/, reason: 'directories have no attributes' },
  ],
};

/** Lists the specs of the suite that cannot run on a pool here. All others have to pass. */
export function exceptionsFor(pool: Pool): readonly Exception[] {
  return [...own[pool], ...forBoth];
}

/** Makes a regular expression for the names of the specs that a run on a pool leaves out. */
export function leftOutFor(pool: Pool): string {
  const leftOut = exceptionsFor(pool).filter(({ isLeftOut = false }) => isLeftOut);
  return leftOut.map(({ specs }) => specs.source).join('|');
}
