import { execFileSync } from 'node:child_process';
import type { TestContext } from 'node:test';
import { mountFuse, type HangingFuse } from '../../harness/node/fuse.ts';
import { requestFor, type Bench } from '../../harness/node.ts';
import { volumesBelow } from '../../harness/node/served.ts';

/** The settings of an agent that soon gives a command up. Its volumes are files on the bench. */
export const hasty = (directory: string) =>
  ({ 'kubelet-dir': '/', 'local-roots': directory, 'command-timeout': '2s' }) as const;

/** The fields of every request about a volume. */
export type CopiedVolume = ReturnType<typeof volumeOf>;

/** Makes a volume with a copy of the image; returns the fields of every request about it. */
export function volumeOf(bench: Bench, image: string, name: string) {
  const path = `${image}-${name}`;
  execFileSync('cp', ['--sparse=always', image, path]);
  return volumesBelow(bench.directory)({
    name,
    attachment: requestFor(bench, path).attachment,
    capability: { mount: { fs_type: 'ext4' }, access_mode: { mode: 'SINGLE_NODE_MULTI_WRITER' } },
  });
}

/** Covers the targets with filesystems whose source is the volumes' devices, so that they pass for the volumes. */
export function coverTargets(
  t: Pick<TestContext, 'after'>,
  volumes: readonly CopiedVolume[],
): Promise<HangingFuse> {
  const covers = volumes.map(({ publish_context: { path = '' }, target_path }) => ({
    image: path,
    target: target_path,
  }));
  return mountFuse(t, covers);
}
