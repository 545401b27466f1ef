import { spawnSync } from 'node:child_process';
import { constants, openSync, readSync, writeSync } from 'node:fs';

/**
 * Mounts empty FUSE filesystems, one for each argument `SOURCE PATH`, and speaks the kernel's protocol on /dev/fuse.
 * Prints `ready` once all are mounted. After `hang` on standard input it reads requests but answers none, so that a
 * caller cannot even be killed. When it ends, every request fails.
 */
function main(pairs: readonly string[]): void {
  let isHanging = false;
  const devices: number[] = [];
  const buffer = Buffer.alloc(1024 * 1024);
  process.stdin.setEncoding('utf8').on('data', (text: string) => {
    isHanging = text.includes('hang');
    process.stdout.write('done\n');
  });
  process.stdin.once('end', () => process.exit());
  for (let index = 0; index + 1 < pairs.length; index += 2)
    devices.push(mount(pairs[index] ?? '', pairs[index + 1] ?? ''));
  setInterval(() => {
    for (const device of devices) while (serveOne(device, { buffer, isHanging }));
  }, 5);
  process.stdout.write('ready\n');
}

function mount(source: string, path: string): number {
  const device = openSync('/dev/fuse', constants.O_RDWR | constants.O_NONBLOCK);
  const options = 'fd=3,rootmode=40000,user_id=0,group_id=0,allow_other';
  const args = ['-i', '-t', 'fuse', '-o', options, '--', source, path];
  const { status, stderr } = spawnSync('mount', args, {
    stdio: ['ignore', 'ignore', 'pipe', device],
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`mount of "${path}" ended with status ${status}: ${stderr}`);
  return device;
}

type ServerState = { readonly buffer: Buffer; readonly isHanging: boolean };

/** Handles one request; returns false if there is none. */
function serveOne(device: number, { buffer, isHanging }: ServerState): boolean {
  try {
    readSync(device, buffer);
  } catch {
    return false;
  }
  const opcode = buffer.readUInt32LE(4);
  if (!isHanging && !unanswered.has(opcode)) reply(device, buffer.readBigUInt64LE(8), answers[opcode]?.());
  return true;
}

/** The opcodes without an answer: FORGET, INTERRUPT and BATCH_FORGET. */
const unanswered: ReadonlySet<number> = new Set([2, 36, 42]);
const notImplemented = 38;

/** The answers by opcode: GETATTR, STATFS, INIT, OPENDIR, READDIR, RELEASEDIR and ACCESS. */
const answers: Readonly<Record<number, () => Buffer>> = {
  3: describeRoot,
  17: describeSpace,
  26: describeProtocol,
  27: () => Buffer.alloc(16),
  28: () => Buffer.alloc(0),
  29: () => Buffer.alloc(0),
  34: () => Buffer.alloc(0),
};

function reply(device: number, unique: bigint, body: Buffer | undefined): void {
  const head = Buffer.alloc(16);
  head.writeUInt32LE(16 + (body?.length ?? 0), 0);
  head.writeInt32LE(body ? 0 : -notImplemented, 4);
  head.writeBigUInt64LE(unique, 8);
  try {
    writeSync(device, body ? Buffer.concat([head, body]) : head);
  } catch {
    // The caller has ended.
  }
}

/** Makes a struct fuse_init_out of protocol 7.31. */
function describeProtocol(): Buffer {
  const body = Buffer.alloc(64);
  body.writeUInt32LE(7, 0);
  body.writeUInt32LE(31, 4);
  body.writeUInt32LE(64 * 1024, 20);
  return body;
}

/** Makes a struct fuse_attr_out: a directory whose attributes expire at once. */
function describeRoot(): Buffer {
  const body = Buffer.alloc(104);
  body.writeBigUInt64LE(1n, 16);
  body.writeUInt32LE(constants.S_IFDIR + 0o755, 76);
  body.writeUInt32LE(2, 80);
  return body;
}

/** Makes a struct fuse_statfs_out: 100 blocks of 4 KiB, 60 of them free. */
function describeSpace(): Buffer {
  const body = Buffer.alloc(80);
  [100n, 60n, 50n, 20n, 9n].forEach((count, index) => body.writeBigUInt64LE(count, index * 8));
  body.writeUInt32LE(4096, 40);
  body.writeUInt32LE(255, 44);
  body.writeUInt32LE(4096, 48);
  return body;
}

main(process.argv.slice(2));
