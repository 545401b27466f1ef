import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Extent } from '../../backend.ts';

/** A range of a file that has blocks. `physical` is their address; undefined when it is not certain. */
export type MappedExtent = Extent & { readonly physical: number | undefined };

const deadlineMs = 5 * 60_000;
const row = /^\s*(\d+):\s*(\d+)\.\.\s*(\d+):\s*(\d+)\.\.\s*(\d+):\s*(\d+):\s*(?:(\d+):)?\s*([a-z0-9_,]*)\s*$/;

/** With any other flag (compressed, inline, unwritten …) equal addresses do not prove equal content. */
const plainFlags = new Set(['', 'last', 'shared', 'merged', 'eof']);

/**
 * Writes the file back, and reads the map of its blocks from the filesystem (FIEMAP, with filefrag). Undefined when
 * filefrag is missing, the filesystem has no maps, or the output is not understood.
 */
export async function readExtents(
  path: string,
  sizeBytes: number,
): Promise<readonly MappedExtent[] | undefined> {
  // -s writes back first, -b1 counts in bytes.
  const child = spawn('filefrag', ['-v', '-e', '-s', '-b1', '--', path], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C' },
    timeout: deadlineMs,
    killSignal: 'SIGKILL',
  });
  const closed = once(child, 'close').catch(() => [undefined]);
  const parsed = await parseRows(createInterface({ input: child.stdout, crlfDelay: Infinity }), sizeBytes);
  const [status] = await closed;
  return status === 0 ? parsed : undefined;
}

/** Parses the table between its heading and the number of extents; undefined for unexpected output. */
async function parseRows(
  lines: AsyncIterable<string>,
  sizeBytes: number,
): Promise<readonly MappedExtent[] | undefined> {
  const extents: MappedExtent[] = [];
  let [isTable, isLast, isExact] = [false, true, true];
  for await (const line of lines) {
    if (!isTable) {
      isTable = /^ ext:\s+logical_offset:\s+physical_offset:\s+length:/.test(line);
      continue;
    }
    if (/: \d+ extents? found$/.test(line)) break;
    const [, index, first, last, physical, , length, , flags = ''] = row.exec(line) ?? [];
    const names = flags.split(',');
    isExact &&= Number(index) === extents.length && Number(last) - Number(first) + 1 === Number(length);
    isLast = names.includes('last');
    const isPlain = names.every(name => plainFlags.has(name));
    extents.push({
      offset: Number(first),
      length: Math.min(Number(length), sizeBytes - Number(first)),
      physical: isPlain ? Number(physical) : undefined,
    });
  }
  const inside = extents.filter(({ length }) => length > 0);
  return isExact && isLast ? inside : undefined;
}
