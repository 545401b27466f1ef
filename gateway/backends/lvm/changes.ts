import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { createKeyedQueue } from '../../../src/lib/concurrency.ts';
import { environmentWith, exec, type ExecResult } from '../../../src/lib/exec.ts';
import type { Changes, Extent, KnownSnapshot } from '../../backend.ts';
import { createListedChanges } from '../../local/extent-lists.ts';
import { commandProblem } from '../../local/files.ts';
import { sectorBytes } from '../../local/kernel/sysfs.ts';
import { deviceOf } from './names.ts';
import type { LvmPool, PoolReport } from './pool.ts';

const timeoutMs = 60_000;
/** The limit for reading the metadata of a very large volume, in milliseconds. */
const readTimeoutMs = 10 * 60_000;

/** Reads the blocks of a pool's snapshots from a copy of the pool's metadata, without any data. */
export function createChanges(pool: LvmPool): Changes {
  const runInQueue = createKeyedQueue();
  return createListedChanges(async ({ target, base }, add) => {
    const report = await pool.report();
    const [now, before] = [idOf(report, target), base && idOf(report, base)];
    const devices =
      before === undefined
        ? ['thin_dump', '--dev-id', now]
        : ['thin_delta', '--thin1', before, '--thin2', now];
    await runInQueue('metadata', () =>
      withMetadata(pool, metadata => readExtents([...devices, ...metadata], add)),
    );
  });
}

/** The number of a snapshot in its thin pool. */
function idOf(report: PoolReport, snapshot: KnownSnapshot): string {
  return report.requireEntry('snapshot', snapshot).thinId;
}

/**
 * Runs work on a copy of the pool's metadata, which the kernel keeps meanwhile. A pool has at most one copy, so a copy
 * from a killed gateway is replaced.
 */
async function withMetadata<T>(pool: LvmPool, work: (args: readonly string[]) => Promise<T>): Promise<T> {
  const first = await send(pool, 'reserve_metadata_snap');
  if (first.status !== 0) await releaseMetadata(pool);
  const reserved = first.status === 0 ? first : await send(pool, 'reserve_metadata_snap');
  if (reserved.status !== 0) throw commandProblem('dmsetup', 'copy the metadata of the thin pool', reserved);
  try {
    return await work(['--metadata-snap', '--', `/dev/mapper/${deviceOf(pool.group, pool.thinPool)}_tmeta`]);
  } finally {
    await releaseMetadata(pool);
  }
}

/** Releases the copy of the pool's metadata, if there is one: it keeps old blocks of the metadata from being used again. */
export async function releaseMetadata(pool: LvmPool): Promise<void> {
  await send(pool, 'release_metadata_snap');
}

function send({ group, thinPool }: LvmPool, message: string): Promise<ExecResult> {
  return exec('dmsetup', ['message', `${deviceOf(group, thinPool)}-tpool`, '0', message], { timeoutMs });
}

/** Elements of the output that describe blocks of a snapshot, or blocks that differ. */
const block = /<(single_mapping|range_mapping|different|left_only|right_only) (.*)\/>/;

/** Reads the extents in a program's output. UNAVAILABLE unless the output is whole. */
async function readExtents(
  [program = '', ...args]: readonly string[],
  add: (extent: Extent) => void,
): Promise<void> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: environmentWith(process.env),
    timeout: readTimeoutMs,
    killSignal: 'SIGKILL',
  });
  const closed = once(child, 'close').catch(() => [undefined]);
  let blockBytes = 0;
  for await (const line of createInterface({ input: child.stdout, crlfDelay: Infinity })) {
    const size = numberIn(line, 'data_block_size');
    if (size !== undefined) blockBytes = size * sectorBytes;
    const [, kind, fields = ''] = block.exec(line) ?? [];
    if (kind !== undefined) add(parseBlocks(fields, blockBytes));
  }
  const [status] = (await closed) as readonly unknown[];
  if (status !== 0 || blockBytes === 0)
    throw unavailableProblem(
      `"${program}" cannot read the metadata of the thin pool: it ended with ${status}`,
    );
}

function parseBlocks(fields: string, blockBytes: number): Extent {
  const begin =
    numberIn(fields, 'origin_block') ?? numberIn(fields, 'origin_begin') ?? numberIn(fields, 'begin');
  return { offset: (begin ?? 0) * blockBytes, length: (numberIn(fields, 'length') ?? 1) * blockBytes };
}

function numberIn(text: string, name: string): number | undefined {
  const [, digits] = new RegExp(`\\b${name}="(\\d+)"`).exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
