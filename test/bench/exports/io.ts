import { constants, openSync, readSync, writeSync } from 'node:fs';
import { basename } from 'node:path';
import type { Attachment } from '../../../src/api/attachment.ts';
import { MiB, startGuestNode, type GuestNode } from '../../vm/guest/agent.ts';
import {
  accessOf,
  makePoolDirectory,
  openExportedPool,
  type KernelExport,
  type PoolPlace,
} from '../../vm/targets/exported.ts';
import type { CleanupScope } from '../../vm/targets/undo.ts';
import { timeAlternately, type Figure } from '../figure.ts';
import { makeTargetByHand } from './by-hand.ts';
import type { DeviceKind } from './devices.ts';

const sizeMiB = 64;
const rounds = 21;

/** Transfers past the cache, one block after another: the bytes of a block, and the number of blocks. */
const transfers = [
  ['reads of 1 MiB', MiB, 8],
  ['writes of 1 MiB', MiB, 8],
  ['random reads of 4 KiB', 4_096, 256],
  ['random writes of 4 KiB', 4_096, 256],
] as const;
type Transfer = (typeof transfers)[number];

/**
 * Measures a node's I/O to an image through its export, and alternately to the same file through a target that was
 * configured by hand.
 */
export async function measureIo(t: CleanupScope, protocol: KernelExport): Promise<readonly Figure[]> {
  const { ours, byHand } = await bringUpBoth(t, protocol);
  const floor = { name: 'the same file by a target set up by hand', disk: byHand };
  return compare({ name: `through ${protocol}`, disk: ours }, { floors: [floor], share: 0.98 });
}

/**
 * Measures the same of a device over nvme-tcp, and alternately of an image; and through a target by hand, of the device's
 * gate, if it has one, and alternately of the device itself.
 */
export async function measureDeviceIo(t: CleanupScope, kind: DeviceKind): Promise<readonly Figure[]> {
  const protocol = 'nvme-tcp';
  const device = await bringUpBoth(t, protocol, kind.makePlace(t));
  const image = await bringUpBoth(t, protocol);
  const byHand = { name: 'the same device by a target set up by hand', disk: device.byHand };
  const ours = { name: `through ${protocol} of a ${kind.name}`, disk: device.ours };
  const floors = [byHand, { name: 'an image', disk: image.ours }];
  const figures = await compare(ours, { floors, share: 0.95 });
  if (!kind.gateOf) return figures;
  const gate = {
    name: `of the gate of a ${kind.name} by a target set up by hand`,
    disk: await device.bringUpByHand(kind.gateOf(device.path)),
  };
  return [...figures, ...(await compare(gate, { floors: [byHand], share: 0.95 }))];
}

/** Connects a volume to a node through its export, and through a target by hand. Returns both disks, filled. */
async function bringUpBoth(
  t: CleanupScope,
  protocol: KernelExport,
  place: PoolPlace = makePoolDirectory(t, 320),
) {
  const pool = await openExportedPool(t, protocol, place);
  const volume = await pool.makeVolume(`c.${protocol}`, sizeMiB);
  const exported = await pool.attach(volume, accessOf('n1', 'block'));
  const path = pool.pathOf(volume.id);
  const node = await startGuestNode(t);
  const ours = await bringUpDisk(node, 'exported', exported);
  const bringUpByHand = (own: string): Promise<number> =>
    bringUpDisk(node, basename(own), { attachment: makeTargetByHand(protocol, own, volume.sizeBytes) });
  const byHand = await bringUpByHand(path);
  fill(ours);
  return { ours, byHand, bringUpByHand, path };
}

/** Connects an attached volume to a node, and opens its raw disk past the cache. */
export async function bringUpDisk(
  node: GuestNode,
  name: string,
  { attachment, secrets = {} }: VolumeAccess,
): Promise<number> {
  const fields = { ...node.volumeAt({ name, attachment, capability: raw }), secrets };
  await node.bringUp(fields);
  return openSync(fields.target_path, constants.O_RDWR | constants.O_DIRECT);
}

type Disk = { readonly name: string; readonly disk: number };

/** Compares the rates of disks. `share`: the share of a floor's rate that is wanted. */
async function compare(
  ours: Disk,
  { floors, share }: { readonly floors: readonly Disk[]; readonly share: number },
): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const transfer of transfers) {
    const works = [ours, ...floors].map(({ name, disk }) => [name, async () => run(transfer, disk)] as const);
    const times = await timeAlternately(rounds, Object.fromEntries(works));
    const [name, bytes, count] = transfer;
    const rateOf = (disk: Disk): number => ((count * bytes) / MiB / (times[disk.name] ?? 0)) * 1_000;
    for (const floor of floors)
      figures.push({
        name: `${name} ${ours.name}`,
        value: rateOf(ours),
        unit: 'MB/s',
        floor: [floor.name, rateOf(floor)],
        target: `≥ ${share}×`,
      });
  }
  return figures;
}

/** A volume's attachment and secrets, as its node receives them. */
type VolumeAccess = { readonly attachment: Attachment; readonly secrets?: Readonly<Record<string, string>> };

const raw = { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;
const buffer = Buffer.alloc(MiB, 'data');

function fill(disk: number): void {
  for (let index = 0; index < sizeMiB; index++) writeSync(disk, buffer, 0, MiB, index * MiB);
}

function run([name, bytes, count]: Transfer, disk: number): void {
  const move = name.includes('writes') ? writeBlock : readBlock;
  const blocks = (sizeMiB * MiB) / bytes;
  for (let index = 0; index < count; index++) {
    const block = name.startsWith('random') ? Math.floor(Math.random() * blocks) : index;
    if (move(disk, bytes, block) !== bytes) throw new Error(`a block of ${bytes} bytes was moved in part`);
  }
}

function readBlock(disk: number, bytes: number, block: number): number {
  return readSync(disk, buffer, 0, bytes, block * bytes);
}

function writeBlock(disk: number, bytes: number, block: number): number {
  return writeSync(disk, buffer, 0, bytes, block * bytes);
}
