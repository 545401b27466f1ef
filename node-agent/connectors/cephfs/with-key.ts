import { spawnSync } from 'node:child_process';
import { dlopen, getInt32 } from 'node:ffi';
import { readFileSync } from 'node:fs';
import { getSystemErrorMessage } from 'node:util';
import { reasonOfFault } from '../../../src/lib/exec.ts';

// A separate program: with-key.ts NAME COMMAND …, with a CephX key as its standard input. It runs the command in a keyring session
// that holds the key under that name, and passes descriptor 3 on. The key vanishes with the session.

const numbers: Readonly<Record<string, readonly [addKey: bigint, keyctl: bigint]>> = {
  x64: [248n, 250n],
  arm64: [217n, 219n],
};
const [addKey, keyctl] = numbers[process.arch] ?? [];
const joinSession = 1n;
const sessionKeyring = -3n;

const { functions: libc } = dlopen('libc.so.6', {
  syscall: { arguments: ['i64', 'buffer', 'buffer', 'buffer', 'u64', 'i64'], return: 'i64' },
  __errno_location: { arguments: [], return: 'pointer' },
});
const { functions: plain } = dlopen('libc.so.6', {
  syscall: { arguments: ['i64', 'i64', 'i64', 'i64', 'i64', 'i64'], return: 'i64' },
});

const { __errno_location: findErrno } = libc;

function requireDone(result: bigint | number, call: string): void {
  if (Number(result) < 0) throw new Error(`${call}: ${getSystemErrorMessage(-getInt32(findErrno()))}`);
}

try {
  const [, , name = '', command = '', ...args] = process.argv;
  if (addKey === undefined || keyctl === undefined)
    throw new Error(`the system calls of ${process.arch} are unknown; use an x64 or arm64 node`);
  const key = Buffer.from(readFileSync(0, 'utf8'), 'base64');
  requireDone(plain.syscall(keyctl, joinSession, 0n, 0n, 0n, 0n), 'keyctl');
  const [type, description] = ['ceph', name].map(text => Buffer.from(`${text}\0`));
  requireDone(
    libc.syscall(addKey, type ?? key, description ?? key, key, BigInt(key.length), sessionKeyring),
    'add_key',
  );
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit', 3] });
  if (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new Error(`"${command}" could not be started: ${reasonOfFault(code)}`, { cause: error });
  }
  process.exitCode = status ?? 1;
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
