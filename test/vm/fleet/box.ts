import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { loadZfs, zfs } from '../targets/dataset.ts';
import { targetsLeft } from '../targets/exported.ts';
import { addThinPool, hashOfDevice, lvm } from '../targets/thin-pool.ts';
import { loadTarget } from '../targets/configfs.ts';
import { address, cableTo } from './cables.ts';
import type { BoxRole } from './fleet.ts';
import { untilAvailable } from '../../harness/csi-serving.ts';
import { openGateway } from './gateway.ts';
import { hashOf } from '../../harness/values.ts';

const root = '/run/box';
const exported = {
  'nvme-tcp': { protocol: 'nvme-tcp', addresses: [`${address}:4420`], authentication: 'none' },
  iscsi: { protocol: 'iscsi', addresses: [`${address}:3260`] },
};

/** Opens a storage server for the cluster "c": a gateway over a disk of this machine, with a pool for each export. */
export async function openBox(role: BoxRole) {
  execFileSync('modprobe', ['-a', 'dm_mod', 'dm_thin_pool']);
  connectBox();
  loadTarget();
  const places = openPlaces[role]();
  const pools = Object.entries(exported).map(
    ([name, one]) => [name, { ...places.poolOf(name), capacity: '100Gi', export: one }] as const,
  );
  const gateway = await openGateway(root, Object.fromEntries(pools));
  // A gateway serves while a slow pool is not open yet.
  for (const [pool] of pools) {
    await untilAvailable(() => gateway.create('ready', pool, { requiredBytes: 2 ** 20 }));
    await untilAvailable(() => gateway.delete('ready'));
  }
  return {
    ...gateway,
    /** Returns the hash of the volume's data. */
    hash: async (name: string, pool: string) => places.hash(name, pool),
    /** Returns the bytes that the volume takes of the disk. */
    allocated: async (name: string, pool: string) => places.allocated(name, pool),
    /** Lists the kernel objects of attachments. */
    left: async () => targetsLeft(),
  };
}

/** Connects this machine to its peers, and loads the modules of its disk. */
export function connectBox(): void {
  execFileSync('modprobe', ['-a', 'virtio_blk', 'virtio_net', 'xfs']);
  execFileSync('ip', ['address', 'add', `${address}/32`, 'dev', 'lo']);
  for (const [index, name] of interfaces().entries()) cableTo(name, index + 1, 'box');
}

/** Opens the directories of the pools on the box's disk. */
function openImages() {
  mountDisk('/dev/vda');
  return {
    poolOf(name: string) {
      mkdirSync(`${root}/${name}`, { recursive: true });
      return { backend: 'image', dir: `${root}/${name}` };
    },
    hash: (name: string, pool: string) => hashOf(imageOf(name, pool)),
    allocated: (name: string, pool: string) => statSync(imageOf(name, pool)).blocks * 512,
  };
}

function imageOf(name: string, pool: string): string {
  return `${root}/${pool}/c.${name}.img`;
}

const group = 'vg0';
const operandOf = (name: string): string => `${group}/fairlead.volume.c.${name}`;

/** Opens a group of LVM on the box's disk, with a volume for the gateway's files, and a thin pool for each export. */
function openThinPools() {
  if (!lvm('vgs', '--noheadings', '--options', 'vg_name').includes(group)) {
    lvm('vgcreate', group, '/dev/vda');
    lvm('lvcreate', '--yes', '--size', '400m', '--name', 'files', group);
    for (const thinPool of Object.keys(exported))
      addThinPool({ group, thinPool }, { sizeMiB: 600, metadataMiB: 16 });
  }
  // As the system does at its start.
  lvm('vgchange', '--activate', 'y', group);
  mountDisk(`/dev/${group}/files`);
  return {
    poolOf: (name: string) => ({ backend: 'lvm', group, thinPool: name }),
    hash: (name: string) => hashOfDevice(`/dev/${operandOf(name)}`),
    allocated(name: string): number {
      const columns = ['--noheadings', '--nosuffix', '--units', 'b', '--options', 'lv_size,data_percent'];
      const [size, percent] = lvm('lvs', ...columns, operandOf(name))
        .trim()
        .split(/\s+/)
        .map(Number);
      return ((size ?? 0) * (percent ?? 0)) / 100;
    },
  };
}

const [zpool, partition] = ['tank', '/dev/vda1'];
const zvolOf = (name: string, pool: string): string => `${zpool}/${pool}/fairlead.volume.c.${name}`;

/** Opens a pool of ZFS on the box's disk, with a filesystem for the gateway's files, and a dataset for each export. */
function openDatasets() {
  openStoragePool(root, Object.keys(exported));
  return {
    poolOf: (name: string) => ({ backend: 'zfs', dataset: `${zpool}/${name}` }),
    hash: (name: string, pool: string) => hashOfDevice(`/dev/zvol/${zvolOf(name, pool)}`),
    allocated(name: string, pool: string): number {
      execFileSync('zpool', ['sync']);
      return Number(zfs('get', '-Hp', '-o', 'value', 'referenced', zvolOf(name, pool)));
    },
  };
}

/** Opens a pool of ZFS on the box's disk, with datasets; its filesystem `files` is mounted at the path. */
export function openStoragePool(path: string, datasets: readonly string[]): void {
  loadZfs();
  // As the system does at its start.
  if (existsSync(partition)) return void execFileSync('zpool', ['import', '-d', partition, zpool]);
  makePartition();
  execFileSync('zpool', ['create', '-f', '-o', 'ashift=12', '-O', 'mountpoint=none', zpool, partition]);
  zfs('create', '-o', `mountpoint=${path}`, `${zpool}/files`);
  for (const name of datasets) zfs('create', `${zpool}/${name}`);
}

/** Makes one partition of the whole disk by a master boot record. To make partitions itself, ZFS needs all rules of udev. */
function makePartition(): void {
  const record = Buffer.alloc(512);
  const [entry, type, firstSector] = [446, 0xbf, 2_048];
  const sectors = Number(execFileSync('blockdev', ['--getsz', '/dev/vda'], { encoding: 'utf8' }));
  record.writeUInt8(type, entry + 4);
  record.writeUInt32LE(firstSector, entry + 8);
  record.writeUInt32LE(sectors - firstSector, entry + 12);
  record.writeUInt16LE(0xaa55, 510);
  writeFileSync('/dev/vda', record);
  execFileSync('blockdev', ['--rereadpt', '/dev/vda']);
}

const openPlaces = { box: openImages, 'thin-box': openThinPools, 'zvol-box': openDatasets };

/** Mounts a disk as an XFS, which is made before the first time. */
export function mountDisk(disk: string, path = root, options = 'defaults'): void {
  if (!hasFilesystem(disk)) execFileSync('mkfs.xfs', ['-q', disk]);
  mkdirSync(path, { recursive: true });
  execFileSync('mount', ['-o', options, '--', disk, path]);
}

function interfaces(): readonly string[] {
  return readdirSync('/sys/class/net')
    .filter(name => name.startsWith('eth'))
    .toSorted();
}

function hasFilesystem(disk: string): boolean {
  return execFileSync('head', ['-c', '4', disk], { encoding: 'latin1' }) === 'XFSB';
}
