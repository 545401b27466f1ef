import type { Pool } from './drivers.ts';

/** Regular expressions for the names of specs that the usual run plays: one or two of each kind, by pool. */
export const slice: Readonly<Record<Pool, readonly string[]>> = {
  image: [
    'Dynamic PV \\(ext4\\)\\] volumes should store data',
    'Dynamic PV \\(block volmode\\)\\] volumes should store data',
    'Dynamic PV \\(default fs\\)\\] subPath should support existing directories when readOnly specified',
    'Dynamic PV \\(default fs\\)\\] subPath should verify container cannot write to subpath readonly volumes',
    'Dynamic PV \\(block volmode\\)\\] provisioning should provision storage with pvc data source$',
    'Dynamic PV \\(default fs\\)\\] provisioning should provision storage with snapshot data source \\[',
    'Dynamic PV \\(default fs\\)\\] provisioning should mount multiple PV pointing to the same storage',
    'Dynamic PV \\(filesystem volmode\\)\\] multiVolume .* should concurrently access the single volume from pods on the same node',
    'Dynamic PV \\(default fs\\)\\(allowExpansion\\)\\] volume-expand should resize volume when PVC is edited while pod is using it',
    'Dynamic Snapshot \\(delete policy\\)\\] snapshottable .* should check .* \\(persistent\\)',
    'Generic Ephemeral-volume \\(block volmode\\) \\(late-binding\\)\\] ephemeral should create read/write inline ephemeral volume',
    'fsgroupchangepolicy \\(OnRootMismatch\\)\\[LinuxOnly\\], pod created with an initial fsgroup, new pod fsgroup applied to volume contents',
    'read-write-once-pod should preempt lower priority pods',
    'Dynamic PV \\(default fs\\)\\] volume-modify .* should create a volume with VAC',
    'topology should provision a volume and schedule a pod with AllowedTopologies',
  ],
  dir: [
    'Dynamic PV \\(filesystem volmode\\)\\] multiVolume .* should concurrently access the single volume from pods on different node',
    'Dynamic PV \\(default fs\\)\\] subPath should be able to unmount after the subpath directory is deleted',
    'Dynamic PV \\(default fs\\)\\] volumes should allow exec of files on the volume',
    'Dynamic PV \\(default fs\\)\\(allowExpansion\\)\\] volume-expand should resize volume when PVC is edited and the pod is re-created',
  ],
};
