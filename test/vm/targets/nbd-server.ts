import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AttachmentOf } from '../../../src/api/attachment.ts';

const address = '127.0.0.1';
const port = 10_809;

/**
 * An NBD server that is not started yet; it ends with the test. It is nbdkit, which is there at once: each start of an nbd-server
 * seeks a prime, for up to half a minute on an emulated processor. Those that gateways start are in `test/vm/fleet`.
 */
export function openNbdServer(t: TestContext) {
  execFileSync('modprobe', ['nbd']);
  const directory = mkdtempSync(join(tmpdir(), 'nbd-'));
  const exports = join(directory, 'exports');
  mkdirSync(exports);
  const pidFile = join(directory, 'pid');
  const stop = async (): Promise<void> => {
    if (!existsSync(pidFile)) return;
    process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL');
    rmSync(pidFile);
    while (isListening()) await sleep(100);
  };
  t.after(async () => {
    await stop();
    rmSync(directory, { recursive: true });
  });
  return {
    /** Makes an export and says how nodes reach it. */
    makeVolume(name: string, sizeBytes: number): AttachmentOf<'nbd'> {
      writeFileSync(join(exports, name), '');
      truncateSync(join(exports, name), sizeBytes);
      const common = { attachmentId: `attachment-${name}`, sizeBytes, readonly: false, mayFormat: true };
      return { protocol: 'nbd', server: address, port, export: name, ...common };
    },
    /** Gives an export another size; connections that are there keep theirs. */
    resize: (attachment: AttachmentOf<'nbd'>, sizeBytes: number): void =>
      truncateSync(join(exports, attachment.export), sizeBytes),
    /** The file of an export. */
    pathOf: (attachment: AttachmentOf<'nbd'>): string => join(exports, attachment.export),
    async start(): Promise<void> {
      const args = ['--ipaddr', address, '--port', String(port), '--pidfile', pidFile];
      // Once it is in the background it serves, and writes its id a moment later.
      execFileSync('nbdkit', [...args, 'file', `dir=${exports}`]);
      while (!existsSync(pidFile) || readFileSync(pidFile, 'utf8') === '') await sleep(20);
    },
    /** Ends the server and all its connections. */
    stop,
  };
}

function isListening(): boolean {
  const texts = ['tcp', 'tcp6'].map(name => readFileSync(`/proc/net/${name}`, 'utf8'));
  return new RegExp(`:${port.toString(16).toUpperCase()} 0+:0000 0A`).test(texts.join(''));
}
