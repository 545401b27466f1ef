import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AttachmentOf } from '../../../src/api/attachment.ts';

/** An NBD server with exports. */
export interface NbdServer {
  /** Makes an export, with further lines of configuration, and says how nodes reach it; before the server is started. */
  makeVolume(name: string, sizeBytes: number, lines?: readonly string[]): AttachmentOf<'nbd'>;
  /** Gives an export another size; connections that are there keep theirs. */
  resize(attachment: AttachmentOf<'nbd'>, sizeBytes: number): void;
  start(): Promise<void>;
  /** Ends the server and all its connections. */
  stop(): Promise<void>;
}

const port = 10_809;

/** A server at an address of this machine that is not started yet; it ends with the test. */
export function openNbdServer(t: TestContext, address = '127.0.0.1'): NbdServer {
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
    makeVolume(name, sizeBytes, lines = []) {
      const all = [
        `[${name}]`,
        `exportname = ${join(directory, name)}`,
        'flush = true',
        'fua = true',
        ...lines,
      ];
      sections.push(`${all.join('\n')}\n`);
      writeFileSync(join(directory, name), '');
      truncateSync(join(directory, name), sizeBytes);
      return {
        protocol: 'nbd',
        server: address,
        port,
        export: name,
        attachmentId: `attachment-${name}`,
        sizeBytes,
        readonly: false,
        mayFormat: true,
      };
    },
    resize: (attachment, sizeBytes) => truncateSync(join(directory, attachment.export), sizeBytes),
    async start() {
      const generic = `[generic]\nlistenaddr = ${address}\nport = ${port}\nallowlist = true\n`;
      writeFileSync(join(directory, 'config'), generic + sections.join(''));
      execFileSync('nbd-server', ['-C', join(directory, 'config'), '-p', pidFile]);
      // It listens before it is ready to serve.
      while (!(await answers(address))) await sleep(100);
    },
    stop,
  };
}

function isListening(): boolean {
  const texts = ['tcp', 'tcp6'].map(name => readFileSync(`/proc/net/${name}`, 'utf8'));
  return new RegExp(`:${port.toString(16).toUpperCase()} 0+:0000 0A`).test(texts.join(''));
}

/** True when somebody who connects is greeted within a second. */
async function answers(address: string): Promise<boolean> {
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
