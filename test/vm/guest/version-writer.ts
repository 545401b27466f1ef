import { createHash } from 'node:crypto';
import { fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fork } from 'node:child_process';
import { once } from 'node:events';

/** What a file must hold: of each of its blocks the version that was last made durable. */
export type Versions = readonly number[];

/** A process that writes the blocks of a file again and again, each time with a new version that is made durable. */
export interface VersionWriter {
  /** Ends it in good order; an I/O error on its way is an error here. */
  finish(): Promise<Versions>;
}

const blockBytes = 4_096;
const blockCount = 64;
const self = fileURLToPath(import.meta.url);

/** Starts such a process, and resolves after its first write. */
export async function startVersions(path: string): Promise<VersionWriter> {
  const child = fork(self, [path], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const failed = once(child, 'exit').then(([status]) => {
    throw new Error(`the writer of "${path}" ended with status ${String(status)}`);
  });
  failed.catch(() => {});
  await Promise.race([once(child, 'message'), failed]);
  return {
    async finish() {
      const last = once(child, 'message') as Promise<[Versions]>;
      if (child.connected) child.send('finish');
      return (await Promise.race([last, failed]))[0];
    },
  };
}

/** The blocks of a file that do not hold what they must, in words. */
export function findWrong(path: string, versions: Versions): readonly string[] {
  const data = readFileSync(path);
  return versions.flatMap((version, block) => {
    const held = data.subarray(block * blockBytes, (block + 1) * blockBytes);
    if (held.equals(makeBlock(block, version))) return [];
    return [`block ${block} of "${path}" has version ${held.readUInt32LE(4)} and not ${version}`];
  });
}

function makeBlock(block: number, version: number): Buffer {
  const data = Buffer.alloc(blockBytes);
  data.writeUInt32LE(block, 0);
  data.writeUInt32LE(version, 4);
  for (let at = 8; at + 32 <= blockBytes; at += 32)
    createHash('sha256').update(`${block} ${version} ${at}`).digest().copy(data, at);
  return data;
}

function write(path: string): void {
  const file = openSync(path, 'w');
  const versions = Array.from({ length: blockCount }, () => 0);
  let isDone = false;
  process.on('message', () => (isDone = true));
  process.on('disconnect', () => process.exit());
  const turn = (count: number): void => {
    const block = (count * 37) % blockCount;
    const version = (versions[block] ?? 0) + 1;
    writeSync(file, makeBlock(block, version), 0, blockBytes, block * blockBytes);
    fdatasyncSync(file);
    versions[block] = version;
    if (count === blockCount) process.send?.('started');
    if (!isDone || count < blockCount) setImmediate(turn, count + 1);
    else {
      process.send?.(versions);
      process.disconnect?.();
    }
  };
  turn(0);
}

const [, program, path] = process.argv;
if (program === self && path !== undefined) write(path);
