import { join } from 'node:path';
import { big, nodePublish, stage, writer, type Case } from './place.ts';

/** Calls of the Node service. */
export const nodeCases: readonly Case[] = [
  ['stage without an id', 'INVALID_ARGUMENT', p => stage(p, { volume_id: '' })],
  ['stage without a path', 'INVALID_ARGUMENT', p => stage(p, { staging_target_path: '' })],
  ['stage without a capability', 'INVALID_ARGUMENT', p => stage(p, { volume_capability: null })],
  ['stage without a publish context', 'INVALID_ARGUMENT', p => stage(p, { publish_context: {} })],
  [
    'stage over an unknown protocol',
    'INVALID_ARGUMENT',
    p => stage(p, { publish_context: { protocol: 'carrier-pigeon' } }),
  ],
  [
    'stage with a publish context over 4 KiB',
    'INVALID_ARGUMENT',
    p => stage(p, { publish_context: { ...p.publish_context, ...big } }),
  ],
  [
    'stage a filesystem that is not offered',
    'INVALID_ARGUMENT',
    p => stage(p, { volume_capability: { ...writer, mount: { fs_type: 'ntfs' } } }),
  ],
  [
    'stage with a forbidden mount flag',
    'INVALID_ARGUMENT',
    p =>
      stage(p, {
        volume_capability: { ...writer, mount: { fs_type: 'ext4', mount_flags: ['suid_dumpable'] } },
      }),
  ],
  [
    'stage with two mount flags in one',
    'INVALID_ARGUMENT',
    p =>
      stage(p, {
        volume_capability: { ...writer, mount: { fs_type: 'ext4', mount_flags: ['noatime,dev'] } },
      }),
  ],
  ['stage at a relative path', 'INVALID_ARGUMENT', p => stage(p, { staging_target_path: 'a/b' })],
  ["stage outside kubelet's directory", 'INVALID_ARGUMENT', p => stage(p, { staging_target_path: '/etc' })],
  [
    'stage at a path that climbs',
    'INVALID_ARGUMENT',
    p => stage(p, { staging_target_path: `${p.kubelet}/../etc` }),
  ],
  [
    'stage through a symbolic link',
    'INVALID_ARGUMENT',
    p => stage(p, { staging_target_path: join(p.kubelet, 'link', 'staging') }),
  ],
  ['publish what is not staged', 'FAILED_PRECONDITION', p => nodePublish(p, {})],
  ['publish without a target', 'INVALID_ARGUMENT', p => nodePublish(p, { target_path: '' })],
  ['publish without a staging path', 'FAILED_PRECONDITION', p => nodePublish(p, { staging_target_path: '' })],
  [
    'unpublish without a target',
    'INVALID_ARGUMENT',
    p => p.node.NodeUnpublishVolume({ volume_id: p.volume_id }),
  ],
  [
    'unstage without an id',
    'INVALID_ARGUMENT',
    p => p.node.NodeUnstageVolume({ staging_target_path: p.staging_target_path }),
  ],
  [
    'stats of an unknown volume',
    'NOT_FOUND',
    p => p.node.NodeGetVolumeStats({ volume_id: 'dev.unknown', volume_path: join(p.kubelet, 'x') }),
  ],
  ['stats without a path', 'INVALID_ARGUMENT', p => p.node.NodeGetVolumeStats({ volume_id: p.volume_id })],
  [
    'expand what is not mounted there',
    'NOT_FOUND',
    p => p.node.NodeExpandVolume({ volume_id: p.volume_id, volume_path: p.kubelet }),
  ],
];
