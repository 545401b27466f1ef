import { constants, openSync, readSync, writeSync } from 'node:fs';
import type { VolumeKind } from '../../../gateway/export.ts';
import type { Attachment } from '../../../src/api/attachment.ts';
import { MiB, startGuestNode } from '../../vm/guest/agent.ts';
import { gateOf } from '../../vm/targets/thin-pool.ts';
import { accessOf, makePlace, openExportedPool, type KernelExport } from '../../vm/targets/exported.ts';
import type { CleanupScope } from '../../vm/targets/undo.ts';
import { timeAlternately, type Figure } from '../figure.ts';
import { makeTargetByHand } from './by-hand.ts';

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
 * Measures a node's I/O to a volume through its export, and alternately to the same file or device through a target
 * that was configured by hand.
 */
export async function measureIo(
  t: CleanupScope,
  protocol: KernelExport,
  kind: VolumeKind,
): Promise<readonly Figure[]> {
  const pool = await openExportedPool(t, protocol, makePlace(t, kind));
  const volume = await pool.makeVolume(`c.${protocol}-${kind}`, sizeMiB);
  const exported = await pool.attach(volume, accessOf('n1', 'block'));
  const path = pool.pathOf(volume.id);
  const node = await startGuestNode(t);
  const bringUp = async (name: string, { attachment, secrets = {} }: VolumeAccess): Promise<number> => {
    const fields = { ...node.volumeAt({ name, attachment, capability: raw }), secrets };
    await node.bringUp(fields);
    return openPastCache(fields.target_path);
  };
  const ours = await bringUp('exported', exported);
  const byHand = await bringUp('by-hand', {
    attachment: makeTargetByHand(protocol, path, volume.sizeBytes),
  });
  fill(ours);
  return compare(
    { name: `of a ${kind} through ${protocol}`, disk: ours },
    { name: `the same ${kind} by a target set up by hand`, disk: byHand },
  );
}

/** Measures I/O to a thin volume through its gate, and alternately to its device itself, without any target. */
export async function measureGate(t: CleanupScope): Promise<readonly Figure[]> {
  const pool = await openExportedPool(t, 'nvme-tcp', makePlace(t, 'device'));
  const volume = await pool.makeVolume('c.gated', sizeMiB);
  await pool.attach(volume, accessOf('n1', 'block'));
  const path = pool.pathOf(volume.id);
  const [gated, bare] = [openPastCache(gateOf(path)), openPastCache(path)];
  fill(gated);
  return compare(
    { name: 'of a thin volume on its machine', disk: gated },
    { name: 'past its gate', disk: bare },
  );
}

function openPastCache(path: string): number {
  return openSync(path, constants.O_RDWR | constants.O_DIRECT);
}

type Disk = { readonly name: string; readonly disk: number };

async function compare(ours: Disk, floor: Disk): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const transfer of transfers) {
    const times = await timeAlternately(rounds, {
      ours: async () => run(transfer, ours.disk),
      floor: async () => run(transfer, floor.disk),
    });
    const [name, bytes, count] = transfer;
    const rateOf = (ms: number): number => ((count * bytes) / MiB / ms) * 1_000;
    figures.push({
      name: `${name} ${ours.name}`,
      value: rateOf(times.ours),
      unit: 'MB/s',
      floor: [floor.name, rateOf(times.floor)],
      target: '≥ 0.98×',
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
