import { dlopen, dlsym, getRawPointer, getUint64 } from 'node:ffi';
import { Socket } from 'node:net';

// To import it is to load all that it would load late.
const { getSystemErrorName } = process.getBuiltinModule('node:util');

/** A process that was started, in a session and a process group of its own. */
export interface Child {
  /** The number of the process and of its group, until `reap` has told its end: another may have it then. */
  readonly pid: number;
  /** Absent where standard input is empty. */
  readonly stdin: Socket | undefined;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** How it ended, or undefined while it runs. Never waits. */
  reap(): Ending | undefined;
}

/** The exit status of a process, or undefined when a signal ended it. */
export type Ending = { readonly status: number | undefined };

// Node.js starts a process by fork, which copies the tables of this one's whole memory: two thirds of what a short
// command costs. posix_spawn copies nothing.
const { lib, functions: libc } = dlopen(null, {
  posix_spawnp: { return: 'i32', arguments: ['buffer', 'string', 'buffer', 'buffer', 'buffer', 'pointer'] },
  posix_spawn_file_actions_init: { return: 'i32', arguments: ['buffer'] },
  posix_spawn_file_actions_addopen: { return: 'i32', arguments: ['buffer', 'i32', 'string', 'i32', 'u32'] },
  posix_spawn_file_actions_adddup2: { return: 'i32', arguments: ['buffer', 'i32', 'i32'] },
  posix_spawn_file_actions_destroy: { return: 'i32', arguments: ['buffer'] },
  posix_spawnattr_init: { return: 'i32', arguments: ['buffer'] },
  posix_spawnattr_setflags: { return: 'i32', arguments: ['buffer', 'i16'] },
  posix_spawnattr_setsigdefault: { return: 'i32', arguments: ['buffer', 'buffer'] },
  posix_spawnattr_setsigmask: { return: 'i32', arguments: ['buffer', 'buffer'] },
  pipe2: { return: 'i32', arguments: ['buffer', 'i32'] },
  close: { return: 'i32', arguments: ['i32'] },
  waitpid: { return: 'i32', arguments: ['i32', 'buffer', 'i32'] },
});
const environmentAddress = dlsym(lib, 'environ');

/** More than any C library takes for these. */
const [actionsBytes, attributesBytes, signalSetBytes] = [256, 512, 128];
const setSignalDefaults = 0x04;
const setSignalMask = 0x08;
const setSession = 0x80;
const closeOnExec = 0o2000000;
const doNotWait = 1;

/** Every signal does in the child what it does by default, and none is blocked. */
const attributes = Buffer.alloc(attributesBytes);
libc.posix_spawnattr_init(attributes);
libc.posix_spawnattr_setsigdefault(attributes, Buffer.alloc(signalSetBytes, 0xff));
libc.posix_spawnattr_setsigmask(attributes, Buffer.alloc(signalSetBytes));
libc.posix_spawnattr_setflags(attributes, setSession | setSignalDefaults | setSignalMask);

/**
 * Starts a command that is found by PATH, with this process's environment, and with an empty standard input unless
 * `hasInput`. What cannot be started is a string: the system's name of the error, such as ENOENT.
 */
export function spawn(command: string, args: readonly string[], hasInput: boolean): Child | string {
  const line = [command, ...args];
  // The kernel would take such an argument for one that ends there.
  if (line.some(word => word.includes('\0'))) return 'EINVAL';
  const pipes: Pipe[] = [];
  for (let count = hasInput ? 3 : 2; count > 0; count--) {
    const pipe = openPipe();
    if (!pipe) {
      for (const { read, write } of pipes) closeAll([read, write]);
      return 'EMFILE';
    }
    pipes.push(pipe);
  }
  const [output, errors, input] = pipes as [Pipe, Pipe, Pipe | undefined];
  const pid = start(line, [input?.read, output.write, errors.write]);
  closeAll([output.write, errors.write, ...(input ? [input.read] : [])]);
  if (typeof pid === 'string') {
    closeAll([output.read, errors.read, ...(input ? [input.write] : [])]);
    return pid;
  }
  let ending: Ending | undefined;
  return {
    pid,
    stdin: input && new Socket({ fd: input.write, readable: false, writable: true }),
    stdout: new Socket({ fd: output.read, readable: true, writable: false }),
    stderr: new Socket({ fd: errors.read, readable: true, writable: false }),
    reap: () => (ending ??= reap(pid)),
  };
}

type Pipe = { readonly read: number; readonly write: number };

/** Undefined when this process has too many open files. */
function openPipe(): Pipe | undefined {
  const ends = Buffer.alloc(8);
  if (libc.pipe2(ends, closeOnExec) !== 0) return undefined;
  return { read: ends.readInt32LE(0), write: ends.readInt32LE(4) };
}

function closeAll(descriptors: readonly number[]): void {
  for (const descriptor of descriptors) libc.close(descriptor);
}

type Streams = readonly [input: number | undefined, output: number, errors: number];

/** The process id, or the error's name. */
function start(line: readonly string[], [input, output, errors]: Streams): number | string {
  const actions = Buffer.alloc(actionsBytes);
  const pid = Buffer.alloc(4);
  libc.posix_spawn_file_actions_init(actions);
  if (input === undefined) libc.posix_spawn_file_actions_addopen(actions, 0, '/dev/null', 0, 0);
  else libc.posix_spawn_file_actions_adddup2(actions, input, 0);
  libc.posix_spawn_file_actions_adddup2(actions, output, 1);
  libc.posix_spawn_file_actions_adddup2(actions, errors, 2);
  const environment = getUint64(environmentAddress);
  const errno = libc.posix_spawnp(pid, line[0] ?? '', actions, attributes, toVector(line), environment);
  libc.posix_spawn_file_actions_destroy(actions);
  return errno === 0 ? pid.readInt32LE() : getSystemErrorName(-errno);
}

/** Pointers to strings, a null pointer, and behind it the strings: in one buffer, so that none is collected before the others. */
function toVector(strings: readonly string[]): Buffer {
  const text = Buffer.from(strings.map(string => `${string}\0`).join(''));
  const pointersBytes = (strings.length + 1) * 8;
  const vector = Buffer.concat([Buffer.alloc(pointersBytes), text]);
  let next = getRawPointer(vector) + BigInt(pointersBytes);
  for (const [index, string] of strings.entries()) {
    vector.writeBigUInt64LE(next, index * 8);
    next += BigInt(Buffer.byteLength(string) + 1);
  }
  return vector;
}

function reap(pid: number): Ending | undefined {
  const result = Buffer.alloc(4);
  const found = libc.waitpid(pid, result, doNotWait);
  if (found === 0) return undefined;
  // Another one collected it: nothing is known of its end, and least of all that it went well.
  if (found !== pid) return { status: undefined };
  const word = result.readInt32LE();
  return { status: (word & 0x7f) === 0 ? (word >> 8) & 0xff : undefined };
}
