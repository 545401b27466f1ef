import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { nodeSettings } from '../../../node-agent/config.ts';
import { startNodeAgent } from '../../../node-agent/main.ts';
import { toPublishContext, type Attachment } from '../../../src/api/attachment.ts';
import { connectCsi, type CsiClient } from '../../../src/csi/client.ts';
import type { VolumeCapability } from '../../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { openRealBench, type Bench } from '../../harness/node-agent-bench.ts';

const patienceMs = 10 * 60_000;

/** A node: its agent, which runs in this process, and who speaks CSI with it. */
export type GuestNode = { readonly bench: Bench; readonly client: CsiClient };

/** Starts a node agent with directories of its own; it ends with the test. */
export async function startGuestNode(
  t: TestContext,
  settings: Readonly<Record<string, string>> = {},
): Promise<GuestNode> {
  const bench = openRealBench(t);
  const { directory } = bench;
  const endpoint = `unix://${directory}/csi.sock`;
  const all = {
    endpoint,
    'node-id': 'n1',
    'state-dir': `${directory}/state`,
    'kubelet-dir': directory,
    'command-timeout': '110s',
    ...settings,
  };
  const argv = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
  const { values } = readSettings(nodeSettings, { argv, env: {} });
  assert.ok(values);
  const running = await startNodeAgent(values, silentLog);
  const client = connectCsi(endpoint);
  t.after(async () => {
    client.close();
    await running.close();
  });
  return { bench, client: withPatience(client) };
}

type Call = (request: object, timeoutMs: number) => Promise<unknown>;

/** A client that waits for as long as an emulated processor on a busy machine may take. */
function withPatience(client: CsiClient): CsiClient {
  const calls = Object.entries<unknown>(client.node).map(([rpc, call]) => [
    rpc,
    (request: object) => (call as Call)(request, patienceMs),
  ]);
  return { ...client, node: Object.fromEntries(calls) as CsiClient['node'] };
}

/** The fields of all Node calls about one volume, at its own paths on a node. */
export function volumeAt({ bench }: Pick<GuestNode, 'bench'>, volume: GuestVolume) {
  const { name, attachment, capability, readonly = false } = volume;
  const path = `${bench.directory}/pods/${name}`;
  return {
    volume_id: `c.${name}`,
    publish_context: toPublishContext(attachment),
    staging_target_path: `${bench.directory}/stage/${name}`,
    target_path: path,
    volume_path: path,
    volume_capability: capability,
    readonly,
  };
}

/** A volume, how it is reached, and how it is used. */
export type GuestVolume = {
  readonly name: string;
  readonly attachment: Attachment;
  readonly capability: VolumeCapability;
  readonly readonly?: boolean;
};

/** What `volumeAt` makes, and what a stage is told in confidence. */
export type VolumeFields = ReturnType<typeof volumeAt> & {
  readonly secrets?: Readonly<Record<string, string>>;
};

/** Stages and publishes a volume. */
export async function bringUp({ client }: GuestNode, volume: VolumeFields): Promise<void> {
  await client.node.NodeStageVolume(volume);
  await client.node.NodePublishVolume(volume);
}

/** Unpublishes and unstages a volume. */
export async function takeDown({ client }: GuestNode, volume: VolumeFields): Promise<void> {
  await client.node.NodeUnpublishVolume(volume);
  await client.node.NodeUnstageVolume(volume);
}
