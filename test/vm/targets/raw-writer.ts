import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Writes numbered records of 4 KiB over the first 8 MiB of a raw volume, without pause and past the cache. No number
 * repeats, so that every late write shows. Exits with status 7 once the volume fails.
 */
export function startRawWriter(path: string): ChildProcess {
  const pass = 'seq -f %4095.0f "$((first))" "$((first + 2047))"';
  const write = 'dd of="$0" bs=4096 iflag=fullblock oflag=direct status=none || exit 7';
  const line = `first=1; while :; do ${pass} | ${write}; first="$((first + 2048))"; done`;
  return spawn('sh', ['-c', line, path], { stdio: 'ignore' });
}
