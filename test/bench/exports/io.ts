import { constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Attachment } from '../../../src/api/attachment.ts';
import { MiB, startGuestNode } from '../../vm/guest/agent.ts';
import { accessOf, openExportedPool, type KernelExport } from '../../vm/targets/exported.ts';
import type { CleanupScope } from '../../vm/targets/undo.ts';
import { timeAlternately, type Figure } from '../figure.ts';
import { makeTargetByHand } from './by-hand.ts';

const sizeMiB = 64;
const rounds = 21;

/** A number of blocks that are transferred past the cache, one after another. */
type Transfer = {
  readonly name: string;
  readonly blockBytes: number;
  readonly count: number;
  readonly isRandom: boolean;
  readonly isWrite: boolean;
};

const sequential = { blockBytes: MiB, count: 8, isRandom: false };
const random = { blockBytes: 4_096, count: 256, isRandom: true };
const transfers: readonly Transfer[] = [
  { name: 'reads of 1 MiB', ...sequential, isWrite: false },
  { name: 'writes of 1 MiB', ...sequential, isWrite: true },
  { name: 'random reads of 4 KiB', ...random, isWrite: false },
  { name: 'random writes of 4 KiB', ...random, isWrite: true },
];

/**
 * Measures a node's I/O to a volume through its export, and alternately to the same file through a target that was
 * configured by hand.
 */
export async function measureIo(t: CleanupScope, protocol: KernelExport): Promise<readonly Figure[]> {
  const pool = await openExportedPool(t, protocol);
  const volume = await pool.makeVolume(`c.${protocol}`, sizeMiB);
  const exported = await pool.attach(volume, accessOf('n1', 'block'));
  const path = join(pool.root, `${volume.id}.img`);
  const node = await startGuestNode(t);
  const bringUp = async (name: string, { attachment, secrets = {} }: VolumeAccess): Promise<number> => {
    const fields = { ...node.volumeAt({ name, attachment, capability: raw }), secrets };
    await node.bringUp(fields);
    return openSync(fields.target_path, constants.O_RDWR | constants.O_DIRECT);
  };
  const ours = await bringUp('exported', exported);
  const byHand = await bringUp('by-hand', {
    attachment: makeTargetByHand(protocol, path, volume.sizeBytes),
  });
  fill(ours);
  const figures: Figure[] = [];
  for (const transfer of transfers) {
    const times = await timeAlternately(rounds, {
      ours: async () => run(transfer, ours),
      byHand: async () => run(transfer, byHand),
    });
    const rateOf = (ms: number): number => ((transfer.count * transfer.blockBytes) / MiB / ms) * 1_000;
    figures.push({
      name: `${transfer.name} through ${protocol}`,
      value: rateOf(times.ours),
      unit: 'MB/s',
      floor: { name: 'the same file by a target set up by hand', value: rateOf(times.byHand) },
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

function run({ blockBytes, count, isRandom, isWrite }: Transfer, disk: number): void {
  const blocks = (sizeMiB * MiB) / blockBytes;
  const move = isWrite ? writeBlock : readBlock;
  for (let index = 0; index < count; index++) {
    const block = isRandom ? Math.floor(Math.random() * blocks) : index;
    if (move(disk, blockBytes, block) !== blockBytes)
      throw new Error(`a block of ${blockBytes} bytes was moved in part`);
  }
}

function readBlock(disk: number, bytes: number, block: number): number {
  return readSync(disk, buffer, 0, bytes, block * bytes);
}

function writeBlock(disk: number, bytes: number, block: number): number {
  return writeSync(disk, buffer, 0, bytes, block * bytes);
}
