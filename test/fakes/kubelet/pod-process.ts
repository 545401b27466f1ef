import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

/** A process that writes to a volume as a pod's would. */
export interface PodProcess {
  /** Ends the process gracefully and returns its number of writes; rejects if an I/O error happened. */
  finish(): Promise<number>;
  /** Kills the process, as happens to a force-deleted pod: its files are open. */
  kill(): Promise<void>;
}

const writer = fileURLToPath(new URL('writer.ts', import.meta.url));

const running = new Set<ChildProcess>();
// A test that fails leaves its pods' processes, and the test file would wait for them.
after(() => running.forEach(child => child.kill('SIGKILL')));

/** Starts writing to an existing file or device, and resolves after the first write. */
export async function startWriting(path: string): Promise<PodProcess> {
  const child = fork(writer, [path], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  // On close its output has arrived completely; on exit it may not have.
  const ended = once(child, 'close') as Promise<[number | null, string | null]>;
  running.add(child);
  child.once('close', () => running.delete(child));
  const failed = ended.then(([status]) => {
    throw new Error(`the pod's process ended with status ${status}: ${errors}`);
  });
  failed.catch(() => {});
  await Promise.race([once(child, 'message'), failed]);
  return {
    async finish() {
      const last = once(child, 'message') as Promise<[{ readonly count: number }]>;
      if (child.connected) child.send('finish');
      const [{ count }] = await Promise.race([last, failed]);
      const [status] = await ended;
      if (status !== 0) throw new Error(`the pod's process ended with status ${status}: ${errors}`);
      return count;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
