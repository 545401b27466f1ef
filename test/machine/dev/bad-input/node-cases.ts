import { join } from 'node:path';
import { big, nodePublish, stage, writer, type Case } from './place.ts';

/** Calls of the Node service. */
export const nodeCases: readonly Case[] = [
  ['stage without an id', 'INVALID_ARGUMENT', /volume_id is missing/, p => stage(p, { volume_id: '' })],
  [
    'stage without a path',
    'INVALID_ARGUMENT',
    /staging_target_path/,
    p => stage(p, { staging_target_path: '' }),
  ],
  [
    'stage without a capability',
    'INVALID_ARGUMENT',
    /volume_capability is missing/,
    p => stage(p, { volume_capability: null }),
  ],
  [
    'stage without a publish context',
    'INVALID_ARGUMENT',
    /publish context has no protocol/,
    p => stage(p, { publish_context: {} }),
  ],
  [
    'stage over an unknown protocol',
    'INVALID_ARGUMENT',
    /"carrier-pigeon"/,
    p => stage(p, { publish_context: { protocol: 'carrier-pigeon' } }),
  ],
  [
    'stage with a publish context over 4 KiB',
    'INVALID_ARGUMENT',
    /bytes/,
    p => stage(p, { publish_context: { ...p.publish_context, ...big } }),
  ],
  [
    'stage a filesystem that is not offered',
    'INVALID_ARGUMENT',
    /"ntfs"/,
    p => stage(p, { volume_capability: { ...writer, mount: { fs_type: 'ntfs' } } }),
  ],
  [
    'stage with a forbidden mount flag',
    'INVALID_ARGUMENT',
    /"suid_dumpable"/,
    p =>
      stage(p, {
        volume_capability: { ...writer, mount: { fs_type: 'ext4', mount_flags: ['suid_dumpable'] } },
      }),
  ],
  [
    'stage with two mount flags in one',
    'INVALID_ARGUMENT',
    /noatime,dev/,
    p =>
      stage(p, {
        volume_capability: { ...writer, mount: { fs_type: 'ext4', mount_flags: ['noatime,dev'] } },
      }),
  ],
  ['stage at a relative path', 'INVALID_ARGUMENT', /"a\/b"/, p => stage(p, { staging_target_path: 'a/b' })],
  [
    "stage outside kubelet's directory",
    'INVALID_ARGUMENT',
    /"\/etc"/,
    p => stage(p, { staging_target_path: '/etc' }),
  ],
  [
    'stage at a path that climbs',
    'INVALID_ARGUMENT',
    /\.\./,
    p => stage(p, { staging_target_path: `${p.kubelet}/../etc` }),
  ],
  [
    'stage through a symbolic link',
    'INVALID_ARGUMENT',
    /symbolic link/,
    p => stage(p, { staging_target_path: join(p.kubelet, 'link', 'staging') }),
  ],
  ['publish what is not staged', 'FAILED_PRECONDITION', /staged/, p => nodePublish(p, {})],
  ['publish without a target', 'INVALID_ARGUMENT', /target_path/, p => nodePublish(p, { target_path: '' })],
  [
    'publish without a staging path',
    'FAILED_PRECONDITION',
    /staging_target_path/,
    p => nodePublish(p, { staging_target_path: '' }),
  ],
  [
    'unpublish without a target',
    'INVALID_ARGUMENT',
    /target_path/,
    p => p.node.NodeUnpublishVolume({ volume_id: p.volume_id }),
  ],
  [
    'unstage without an id',
    'INVALID_ARGUMENT',
    /volume_id is missing/,
    p => p.node.NodeUnstageVolume({ staging_target_path: p.staging_target_path }),
  ],
  [
    'stats of an unknown volume',
    'NOT_FOUND',
    /"dev\.unknown"/,
    p => p.node.NodeGetVolumeStats({ volume_id: 'dev.unknown', volume_path: join(p.kubelet, 'x') }),
  ],
  [
    'stats without a path',
    'INVALID_ARGUMENT',
    /volume_path/,
    p => p.node.NodeGetVolumeStats({ volume_id: p.volume_id }),
  ],
  [
    'expand what is not mounted there',
    'NOT_FOUND',
    /"dev\.good"/,
    p => p.node.NodeExpandVolume({ volume_id: p.volume_id, volume_path: p.kubelet }),
  ],
];
