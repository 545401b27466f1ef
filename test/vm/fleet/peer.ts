import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Attachment } from '../../../src/api/attachment.ts';
import type { CsiClient } from '../../../src/csi/client.ts';
import type { VolumeCapability } from '../../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { createLog } from '../../../src/lib/log.ts';
import { untilAvailable } from '../../harness/csi-serving.ts';
import { startRawWriter } from '../targets/raw-writer.ts';
import { startDaemons } from '../targets/scsi-target.ts';
import { cableTo } from './cables.ts';
import { servantScope } from './orders.ts';
import { volumesBelow, writer } from '../../harness/node/served.ts';
import { filesWith, iscsiRecords, readEach, servePatiently } from '../guest/agent.ts';

const share: VolumeCapability = { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } };
const capabilities: Readonly<Record<string, VolumeCapability>> = {
  mount: writer,
  'mount to read': { mount: {}, access_mode: { mode: 'MULTI_NODE_READER_ONLY' } },
  block: { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } },
  'shared block': { block: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } },
  share,
  'share to read': share,
};

/** Opens a node that is cabled to the box. */
export async function openPeer(number: number) {
  await joinBox(number);
  return openNode(`n${number}`);
}

/** Opens a node: an agent, and the work of pods with volumes. */
export function openNode(nodeId: string) {
  const directory = mkdtempSync(join(tmpdir(), 'node-'));
  for (const name of ['stage', 'pods']) mkdirSync(`${directory}/${name}`);
  let agent: CsiClient | undefined;
  const ask = (): CsiClient['node'] => agent?.node ?? assert.fail('the agent was not started');
  const volumeAt = volumesBelow(directory);
  const pathsOf = (name: string) => ({
    volume_id: `c.${name}`,
    target_path: `${directory}/pods/${name}`,
    staging_target_path: `${directory}/stage/${name}`,
  });
  return {
    /** Starts the agent and returns its node id. With `keys` it accepts only attachments that are signed with them. */
    async start(keys?: string) {
      const file = `${directory}/keys`;
      if (keys !== undefined) writeFileSync(file, keys);
      const flags = { 'node-id': nodeId, 'gateway-keys-file': existsSync(file) ? file : '' };
      agent = await servePatiently(servantScope, directory, { flags, log: createLog('node', 'info') });
      return (await ask().NodeGetInfo({})).node_id;
    },
    /** Stages and publishes a volume as kubelet does, with retries. */
    async bringUp(name: string, attachment: Attachment, use = 'mount') {
      const capability = capabilities[use] ?? assert.fail(`nobody uses a volume as "${use}"`);
      const fields = volumeAt({ name, attachment, capability, readonly: attachment.readonly });
      await untilAvailable(() => ask().NodeStageVolume(fields));
      await untilAvailable(() => ask().NodePublishVolume(fields));
    },
    async takeDown(name: string) {
      await untilAvailable(() => ask().NodeUnpublishVolume(pathsOf(name)));
      await untilAvailable(() => ask().NodeUnstageVolume(pathsOf(name)));
    },
    expand: (name: string, required_bytes: number) =>
      ask().NodeExpandVolume({
        ...pathsOf(name),
        volume_path: `${directory}/pods/${name}`,
        capacity_range: { required_bytes: String(required_bytes) },
      } as never),
    pathOf: async (name: string) => `${directory}/pods/${name}`,
    ...createWriters(directory),
    /**
     * Makes the kernel give up an unreachable server within seconds; by default it tries for ten minutes while I/O
     * waits.
     */
    async giveUpSoon() {
      for (const name of namesBelow('/sys/class/nvme'))
        await writeFile(`/sys/class/nvme/${name}/ctrl_loss_tmo`, '4');
    },
    /**
     * Sets how long I/O waits for an iSCSI target that is lost from then on; two minutes are too short for emulated
     * processors.
     */
    async waitForTargets(seconds: number) {
      for (const name of namesBelow('/sys/class/iscsi_session'))
        await writeFile(`/sys/class/iscsi_session/${name}/recovery_tmo`, String(seconds));
    },
    connectionsLeft: async () => connectionsLeft(),
    /** Lists the files of the node that contain a word, and the processes that have it in their arguments. */
    whereIs: async (word: string) => [
      ...execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
        .split('\n')
        .filter(line => line.includes(word)),
      ...filesWith(word, directory, '/run', '/etc'),
    ],
  };
}

/** Prepares this machine to use the box's exports. */
async function joinBox(number: number): Promise<void> {
  // Without udev nothing else loads the module of SCSI disks.
  execFileSync('modprobe', ['-a', 'virtio_net', 'nvme_tcp', 'sd_mod', 'nfs']);
  cableTo('eth0', number, 'peer');
  // An NFS server takes two clients with one host name for one that was restarted.
  execFileSync('hostname', [`n${number}`]);
  mkdirSync('/etc/nvme', { recursive: true });
  const uuid = `00000000-0000-4000-8000-00000000000${number}`;
  writeFileSync('/etc/nvme/hostnqn', `nqn.2014-08.org.nvmexpress:uuid:${uuid}\n`);
  writeFileSync('/etc/nvme/hostid', `${uuid}\n`);
  await startDaemons();
}

/** Connects this machine to the network of the storage. */
export function joinNetwork(): void {
  execFileSync('modprobe', ['virtio_net']);
  execFileSync('ip', ['address', 'add', '10.0.2.15/24', 'dev', 'eth0']);
  execFileSync('ip', ['link', 'set', 'eth0', 'up']);
  execFileSync('ip', ['route', 'add', 'default', 'via', '10.0.2.2']);
}

/** Creates pods that write. */
function createWriters(directory: string) {
  const raw = new Map<string, Promise<unknown>>();
  const files = new Map<string, { readonly state: WriteProgress; readonly ended: Promise<void> }>();
  return {
    /** Writes numbered records of 4 KiB to a raw volume without pause, past the cache. */
    async writeRaw(name: string) {
      raw.set(name, once(startRawWriter(`${directory}/pods/${name}`), 'exit'));
    },
    /** Returns how the writer ended; status 7 is an error of the volume. */
    rawEnd: async (name: string) => raw.get(name),
    /** Appends numbered lines to a file, each durable before the next. */
    async writeFile(name: string, file = 'lines') {
      const state = { written: 0, fault: '', isOver: false };
      files.set(name, { state, ended: appendLines(`${directory}/pods/${name}/${file}`, state) });
    },
    /** Returns the number of durable lines, and the error if there was one. */
    written: async (name: string) => files.get(name)?.state,
    /** Resolves once the file is closed. */
    async stopWriting(name: string) {
      const file = files.get(name);
      if (file) file.state.isOver = true;
      await file?.ended;
    },
    linesOf: async (name: string) =>
      readFileSync(`${directory}/pods/${name}/lines`, 'utf8').split('\n').filter(Boolean).length,
  };
}

type WriteProgress = { written: number; fault: string; isOver: boolean };

async function appendLines(path: string, state: WriteProgress): Promise<void> {
  try {
    await using file = await open(path, 'a');
    while (!state.isOver) {
      await file.write(`${state.written + 1}\n`);
      await file.datasync();
      state.written++;
    }
  } catch (error) {
    state.fault = String(error);
  }
}

/** Lists the node's resources of volumes: controllers, sessions and their records, shares, loop devices, and disks. */
function connectionsLeft(): readonly string[] {
  const controllers = namesBelow('/sys/class/nvme');
  const sessions = readEach('/sys/class/iscsi_connection', 'persistent_address');
  const shares = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter(line => / - (ceph|nfs4) /.test(line));
  const disks = readdirSync('/sys/block').filter(name => /^(sd|nvme|vd|rbd)/.test(name));
  const loops = readdirSync('/sys/block').filter(name => existsSync(`/sys/block/${name}/loop`));
  const records = iscsiRecords();
  return [...controllers, ...sessions, ...records, ...shares, ...disks, ...loops];
}

function namesBelow(path: string): readonly string[] {
  return existsSync(path) ? readdirSync(path) : [];
}
