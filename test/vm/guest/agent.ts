import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMachine } from '../../../node-agent/host/linux.ts';
import type { CsiClient } from '../../../src/csi/client.ts';
import { untilAvailable } from '../../harness/csi-serving.ts';
import { openRealBench } from '../../harness/node.ts';
import {
  putUp,
  serveNode,
  takeDown,
  volumesBelow,
  type ServeOptions,
  type VolumeFields,
} from '../../harness/node/served.ts';
import type { Flags } from '../../harness/program.ts';
import type { CleanupScope } from '../targets/undo.ts';

export const MiB = 2 ** 20;

/** The machine for tests of a connector itself. */
export const host = createMachine({ timeoutMs: 60_000 });

const patienceMs = 10 * 60_000;

/** A node: its agent, which runs in this process, a CSI client, and the operations on its volumes. */
export type GuestNode = Awaited<ReturnType<typeof startGuestNode>>;

/** The settings of a node whose volumes are files beside its paths. */
export const local = { 'kubelet-dir': '/', 'local-roots': tmpdir() } as const;

/** Starts a node agent with directories of its own; it ends with the test. */
export async function startGuestNode(t: CleanupScope, flags: Flags = {}) {
  const bench = openRealBench(t);
  const client = await servePatiently(t, bench.directory, { flags });
  return { bench, client, volumeAt: volumesBelow(bench.directory), ...volumesOver(client) };
}

/** Serves an agent in this process with timeouts that are long enough for an emulated processor on a busy machine. */
export async function servePatiently(
  t: CleanupScope,
  directory: string,
  { flags, ...options }: ServeOptions,
): Promise<CsiClient> {
  const client = await serveNode(t, directory, {
    flags: { 'command-timeout': '110s', ...flags },
    ...options,
  });
  const calls = Object.entries<unknown>(client.node).map(([rpc, call]) => [
    rpc,
    (request: object) => (call as Call)(request, patienceMs),
  ]);
  return { ...client, node: Object.fromEntries(calls) as CsiClient['node'] };
}

type Call = (request: object, timeoutMs: number) => Promise<unknown>;

/** The functions that observe a volume's life. */
export type Life = {
  /** Expands the volume on the storage, if it can be expanded while in use. The node expands it afterwards. */
  readonly grow?: (sizeBytes: number) => unknown;
  /** Examines the machine while the volume is up. */
  readonly look?: () => void;
  /** Lists the volume's resources on the machine; none once it is taken down. */
  readonly left: () => readonly string[];
};

/** Creates the operations on volumes over CSI. */
export function volumesOver(client: CsiClient) {
  const { node } = client;
  const volumes = {
    bringUp: (volume: VolumeFields) => putUp(client, volume),
    takeDown: (volume: VolumeFields) => takeDown(client, volume),
    /** Takes a hung volume down; repeats the calls, as kubelet does, until the processes that wait on it have ended. */
    async takeDownHung(volume: VolumeFields): Promise<void> {
      await untilAvailable(() => volumes.takeDown(volume));
    },
    /** Expands a volume and fails unless it then has the size. */
    async expand(volume: VolumeFields, sizeBytes: number): Promise<void> {
      const capacity_range = { required_bytes: sizeBytes };
      const request = { ...volume, volume_path: volume.target_path, capacity_range };
      assert.equal(Number((await node.NodeExpandVolume(request)).capacity_bytes), sizeBytes);
    },
    /** Returns the usage of a published volume; repeats the call, as kubelet does, until the usage is known. */
    async usage({ volume_id, target_path: volume_path }: VolumeFields) {
      const { usage } = await untilAvailable(() => node.NodeGetVolumeStats({ volume_id, volume_path }));
      return usage ?? assert.fail('it has no usage');
    },
    /** Writes a file to a published volume. */
    write: ({ target_path: path }: VolumeFields, text = 'data'): void =>
      writeFileSync(join(path, 'file'), text, { flush: true }),
    /** Reads the file from a published volume. */
    read: ({ target_path: path }: VolumeFields): string => readFileSync(join(path, 'file'), 'utf8'),
    /** Fails unless a volume can be written, grows, leaves nothing, and has its data when it is up again. */
    async requireLife(volume: VolumeFields, { grow, look, left }: Life): Promise<void> {
      await volumes.bringUp(volume);
      look?.();
      volumes.write(volume);
      if (grow) {
        await grow(128 * MiB);
        await volumes.expand(volume, 128 * MiB);
      }
      await volumes.takeDown(volume);
      assert.deepEqual(left(), []);
      await volumes.bringUp(volume);
      assert.equal(volumes.read(volume), 'data');
      await volumes.takeDown(volume);
      assert.deepEqual(left(), []);
    },
    /**
     * Fails unless a new attachment of a volume that is still staged reads the data on the storage, and none from
     * memory.
     */
    async requireStagedAnew(volume: VolumeFields, left: Life['left']): Promise<void> {
      const publish_context = { ...volume.publish_context, attachmentId: 'attachment-again' };
      const again = { ...volume, publish_context };
      await volumes.bringUp(volume);
      volumes.write(volume);
      await node.NodeUnpublishVolume(volume);
      const writesBack = '/proc/sys/vm/dirty_writeback_centisecs';
      const usual = readFileSync(writesBack, 'utf8');
      writeFileSync(writesBack, '0');
      try {
        writeFileSync(join(volume.staging_target_path, 'file'), 'lost', { flag: 'r+' });
        await node.NodeStageVolume(again);
      } finally {
        writeFileSync(writesBack, usual);
      }
      await assert.rejects(node.NodePublishVolume(volume), { code: 'FAILED_PRECONDITION' });
      await node.NodePublishVolume(again);
      assert.equal(volumes.read(again), 'data');
      volumes.write(again, 'next');
      await volumes.takeDown(again);
      assert.deepEqual(left(), []);
      await volumes.bringUp(again);
      assert.equal(volumes.read(again), 'next');
      await volumes.takeDown(again);
    },
    /** Fails unless two volumes share their connections until both are taken down, and share no data. */
    async requireSharing(
      both: readonly [VolumeFields, VolumeFields],
      connections: Life['left'],
    ): Promise<void> {
      const [one, two] = both;
      await volumes.bringUp(one);
      const shared = connections();
      await volumes.bringUp(two);
      assert.deepEqual(connections(), shared);
      volumes.write(one, 'one');
      await volumes.takeDown(one);
      assert.deepEqual(connections(), shared);
      assert.ok(!existsSync(join(two.target_path, 'file')));
      volumes.write(two, 'two');
      await volumes.takeDown(two);
      assert.deepEqual(connections(), []);
      await Promise.all(both.map(volumes.bringUp));
      assert.equal(volumes.read(two), 'two');
      await Promise.all(both.map(volumes.takeDown));
      assert.deepEqual(connections(), []);
    },
  };
  return volumes;
}

/** Reads a kernel file of each entry of a directory; none if the directory does not exist. */
export function readEach(directory: string, file: string): readonly string[] {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names.map(name => readFileSync(join(directory, name, file), 'utf8').trim()).toSorted();
}

/** Lists the files of open-iscsi's records. */
export function iscsiRecords(): readonly string[] {
  const directory = '/etc/iscsi/nodes';
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .toSorted();
}

/** Cuts the TCP connections that a filter of `ss` matches. */
export function cutConnections(...filter: readonly string[]): void {
  execFileSync('ss', ['--kill', '--tcp', ...filter]);
}

/** Waits for a state without a timeout. */
export async function untilSeen(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(100);
}

/** Lists the files below directories that contain a word, except devices and the tests' own compiled code. */
export function filesWith(word: string, ...directories: readonly string[]): readonly string[] {
  const [, bootSeconds] = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'latin1')) ?? [];
  const there = directories.filter(path => existsSync(path));
  const changed = [
    '(',
    '-path',
    '/run/compiled',
    '-prune',
    ')',
    '-o',
    '-type',
    'f',
    '-newermt',
    `@${bootSeconds}`,
  ];
  const grep = ['-exec', 'grep', '--files-with-matches', '--', word, '{}', '+'];
  return spawnSync('find', [...there, ...changed, ...grep], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(Boolean)
    .toSorted();
}
