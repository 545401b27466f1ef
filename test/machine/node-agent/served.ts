import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import type { TestContext } from 'node:test';
import { nodeSettings } from '../../../node-agent/config.ts';
import { startNodeAgent } from '../../../node-agent/main.ts';
import { toPublishContext } from '../../../src/api/attachment.ts';
import { connectCsi, type CsiClient } from '../../../src/csi/client.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { mountFuse, type HangingFuse } from '../../harness/node/fuse.ts';
import { requestFor, type Bench } from '../../harness/node/bench.ts';

/**
 * Serves an agent on a bench in this process until the test ends, with a limit of two seconds for its commands; returns
 * its client.
 */
export async function serveBench(
  t: Pick<TestContext, 'after'>,
  { directory }: Bench,
  settings: Readonly<Record<string, string>> = {},
): Promise<CsiClient> {
  const argv = {
    endpoint: `unix://${directory}/csi.sock`,
    'node-id': 'n1',
    'state-dir': `${directory}/state`,
    'kubelet-dir': '/',
    'local-roots': directory,
    'command-timeout': '2s',
    ...settings,
  };
  const { values } = readSettings(nodeSettings, {
    argv: Object.entries(argv).map(([name, value]) => `--${name}=${value}`),
    env: {},
  });
  assert.ok(values);
  const running = await startNodeAgent(values, silentLog);
  const client = connectCsi(argv.endpoint);
  t.after(async () => {
    client.close();
    await running.close();
  });
  return client;
}

/** The fields of every request about a volume. */
export type ServedVolume = ReturnType<typeof volumeOf>;

/** Makes a volume with a copy of the image; returns the fields of every request about it. */
export function volumeOf(bench: Bench, image: string, name: string) {
  const path = `${image}-${name}`;
  execFileSync('cp', ['--sparse=always', image, path]);
  const { attachment } = requestFor(bench, path);
  return {
    volume_id: `c.${name}`,
    publish_context: toPublishContext(attachment),
    staging_target_path: `${bench.directory}/stage/${name}`,
    target_path: `${bench.directory}/pods/${name}`,
    volume_path: `${bench.directory}/pods/${name}`,
    volume_capability: {
      mount: { fs_type: 'ext4' },
      access_mode: { mode: 'SINGLE_NODE_MULTI_WRITER' as const },
    },
  };
}

/** Stages a volume and publishes it. */
export async function putUp({ node }: CsiClient, volume: ServedVolume): Promise<void> {
  await node.NodeStageVolume(volume);
  await node.NodePublishVolume(volume);
}

/** Unpublishes a volume and unstages it. */
export async function takeDown({ node }: CsiClient, volume: ServedVolume): Promise<void> {
  await node.NodeUnpublishVolume(volume);
  await node.NodeUnstageVolume(volume);
}

/** Covers the targets with filesystems whose source is the volumes' devices, so that they pass for the volumes. */
export function coverTargets(
  t: Pick<TestContext, 'after'>,
  volumes: readonly ServedVolume[],
): Promise<HangingFuse> {
  const covers = volumes.map(({ publish_context: { path = '' }, target_path }) => ({
    image: path,
    target: target_path,
  }));
  return mountFuse(t, covers);
}
