import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AttachmentOf } from '../../../src/api/attachment.ts';

const address = '127.0.0.1';
const port = 10_809;

/** An NBD server that is not started yet; it ends with the test. */
export function openNbdServer(t: TestContext) {
  execFileSync('modprobe', ['nbd']);
  const directory = mkdtempSync(join(tmpdir(), 'nbd-'));
  const sections: string[] = [];
  const pidFile = join(directory, 'pid');
  const stop = async (): Promise<void> => {
    if (!existsSync(pidFile)) return;
    // Each connection has a process of its own, in the group of the first one.
    process.kill(-Number(readFileSync(pidFile, 'utf8')), 'SIGKILL');
    rmSync(pidFile);
    while (isListening()) await sleep(100);
  };
  t.after(async () => {
    await stop();
    rmSync(directory, { recursive: true });
  });
  return {
    /** Makes an export and says how nodes reach it; before the server is started. */
    makeVolume(name: string, sizeBytes: number): AttachmentOf<'nbd'> {
      sections.push(`[${name}]\nexportname = ${join(directory, name)}\nflush = true\nfua = true\n`);
      writeFileSync(join(directory, name), '');
      truncateSync(join(directory, name), sizeBytes);
      const common = { attachmentId: `attachment-${name}`, sizeBytes, readonly: false, mayFormat: true };
      return { protocol: 'nbd', server: address, port, export: name, ...common };
    },
    /** Gives an export another size; connections that are there keep theirs. */
    resize: (attachment: AttachmentOf<'nbd'>, sizeBytes: number): void =>
      truncateSync(join(directory, attachment.export), sizeBytes),
    /** The file of an export. */
    pathOf: (attachment: AttachmentOf<'nbd'>): string => join(directory, attachment.export),
    async start(): Promise<void> {
      const generic = `[generic]\nlistenaddr = ${address}\nport = ${port}\nallowlist = true\n`;
      writeFileSync(join(directory, 'config'), generic + sections.join(''));
      execFileSync('nbd-server', ['-C', join(directory, 'config'), '-p', pidFile]);
      // It listens before it is ready to serve.
      while (!(await answers())) await sleep(100);
    },
    /** Ends the server and all its connections. */
    stop,
  };
}

function isListening(): boolean {
  const texts = ['tcp', 'tcp6'].map(name => readFileSync(`/proc/net/${name}`, 'utf8'));
  return new RegExp(`:${port.toString(16).toUpperCase()} 0+:0000 0A`).test(texts.join(''));
}

/** True when a client is greeted within a second. */
async function answers(): Promise<boolean> {
  const socket = connect(port, address);
  try {
    await once(socket, 'data', { signal: AbortSignal.timeout(1_000) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
