import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeSettings } from '../../../node-agent/config.ts';
import { createMachine } from '../../../node-agent/host/linux.ts';
import { startNodeAgent } from '../../../node-agent/main.ts';
import { toPublishContext, type Attachment } from '../../../src/api/attachment.ts';
import { connectCsi, type CsiClient } from '../../../src/csi/client.ts';
import type { VolumeCapability } from '../../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { openRealBench, type Bench } from '../../harness/node-agent-bench.ts';

export const MiB = 2 ** 20;

/** The machine for what is asked of a connector itself. */
export const host = createMachine({ timeoutMs: 60_000 });

/** An ext4 for one writer. */
export const writer: VolumeCapability = {
  mount: { fs_type: 'ext4' },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
};

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
  const { name, attachment, capability = writer, readonly = false } = volume;
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
  /** An ext4 for one writer where it is left out. */
  readonly capability?: VolumeCapability;
  readonly readonly?: boolean;
};

/** What `volumeAt` makes, and the secrets of a stage. */
export type VolumeFields = ReturnType<typeof volumeAt> & {
  readonly secrets?: Readonly<Record<string, string>>;
};

/** What is asked of an agent, and of which volume, to bring it up. */
type Served = Pick<GuestNode, 'client'>;
type StagedFields = Omit<VolumeFields, 'volume_path' | 'readonly'>;

/** Stages and publishes a volume. */
export async function bringUp({ client }: Served, volume: StagedFields): Promise<void> {
  await client.node.NodeStageVolume(volume);
  await client.node.NodePublishVolume(volume);
}

/** Unpublishes and unstages a volume. */
export async function takeDown({ client }: Served, volume: StagedFields): Promise<void> {
  await client.node.NodeUnpublishVolume(volume);
  await client.node.NodeUnstageVolume(volume);
}

/** Writes to a published volume. */
export function writeText({ target_path: path }: VolumeFields, text = 'data'): void {
  writeFileSync(join(path, 'file'), text, { flush: true });
}

/** What was written to a published volume. */
export function readText({ target_path: path }: VolumeFields): string {
  return readFileSync(join(path, 'file'), 'utf8');
}

/** Expands a volume, and requires that it has the size then. */
export async function expand({ client }: GuestNode, volume: VolumeFields, sizeBytes: number): Promise<void> {
  const request = { ...volume, capacity_range: { required_bytes: sizeBytes } };
  assert.equal(Number((await client.node.NodeExpandVolume(request)).capacity_bytes), sizeBytes);
}

/** What is looked at in a volume's life. */
export type Life = {
  /** Gives the volume another size, where it grows while it is used. */
  readonly grow?: (sizeBytes: number) => void;
  /** Looks at the machine while the volume is up. */
  readonly look?: () => void;
  /** What there is of the volume on the machine; nothing once it is taken down. */
  readonly left: () => readonly string[];
};

/** Requires of a volume that it can be written, grows, leaves nothing, and has its data when it is brought up again. */
export async function requireLife(node: GuestNode, volume: VolumeFields, life: Life): Promise<void> {
  const { grow, look, left } = life;
  await bringUp(node, volume);
  look?.();
  writeText(volume);
  if (grow) {
    grow(128 * MiB);
    await expand(node, volume, 128 * MiB);
  }
  await takeDown(node, volume);
  assert.deepEqual(left(), []);
  await bringUp(node, volume);
  assert.equal(readText(volume), 'data');
  await takeDown(node, volume);
  assert.deepEqual(left(), []);
}

/** Requires of two volumes that they share their connections until both are taken down, and no data. */
export async function requireSharing(
  node: GuestNode,
  [one, two]: readonly [VolumeFields, VolumeFields],
  connections: () => readonly string[],
): Promise<void> {
  await bringUp(node, one);
  const shared = connections();
  await bringUp(node, two);
  assert.deepEqual(connections(), shared);
  writeText(one, 'one');
  await takeDown(node, one);
  assert.deepEqual(connections(), shared);
  assert.ok(!existsSync(join(two.target_path, 'file')));
  writeText(two, 'two');
  await takeDown(node, two);
  assert.deepEqual(connections(), []);
  await Promise.all([bringUp(node, one), bringUp(node, two)]);
  assert.equal(readText(two), 'two');
  await Promise.all([takeDown(node, one), takeDown(node, two)]);
  assert.deepEqual(connections(), []);
}

/** What the kernel shows in a file of each entry of a directory; nothing where there is no directory. */
export function readEach(directory: string, file: string): readonly string[] {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names.map(name => readFileSync(join(directory, name, file), 'utf8').trim()).toSorted();
}

/** Cuts the TCP connections that a filter of `ss` matches. */
export function cutConnections(...filter: readonly string[]): void {
  execFileSync('ss', ['--kill', '--tcp', ...filter]);
}

/** Waits for a state for as long as it takes. */
export async function untilSeen(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(100);
}

/** The files below directories in which a word stands, but for devices and compiled code of the tests themselves. */
export function filesWith(word: string, ...directories: readonly string[]): readonly string[] {
  const options = ['--recursive', '--files-with-matches', '--devices=skip', '--exclude-dir=compiled'];
  const args = [...options, '--', word, ...directories.filter(path => existsSync(path))];
  return spawnSync('grep', args, { encoding: 'utf8' }).stdout.split('\n').filter(Boolean).toSorted();
}
