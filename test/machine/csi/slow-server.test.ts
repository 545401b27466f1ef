import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { poll } from '../../../src/lib/concurrency.ts';
import { isSocketAnswered } from '../../../src/lib/unix-socket.ts';
import { exec } from '../../../src/lib/exec.ts';
import { temporaryDirectory } from '../../harness/temporary.ts';

type Server = { readonly child: ChildProcess; said(): string };

/** Starts a server; see `slow-server.ts`. */
function start(t: TestContext, socketPath: string, pace: 'fast' | 'slow'): Server {
  const program = join(import.meta.dirname, 'slow-server.ts');
  const child = spawn(process.execPath, [program, socketPath, pace], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return { child, said: () => output.trim() };
}

/** Returns true while the server is stopped. */
function isStopped({ child }: Server): boolean {
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}

/** Returns true while the server has the directory open, as it does while it waits for the lock. */
function isAtLock({ child }: Server, directory: string): boolean {
  return readdirSync(`/proc/${child.pid}/fd`).some(descriptor => {
    try {
      return readlinkSync(`/proc/${child.pid}/fd/${descriptor}`) === directory;
    } catch {
      return false;
    }
  });
}

async function until(holds: () => boolean): Promise<void> {
  assert.ok(await poll(() => holds() || undefined, { everyMs: 5, timeoutMs: 60_000 }), String(holds));
}

async function leaveDeadSocket(socketPath: string): Promise<void> {
  const source = `require('net').createServer().listen(${JSON.stringify(socketPath)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await exec(process.execPath, ['-e', source], { timeoutMs: 20_000 });
}

/** Continues a stopped server; returns true once it is stopped again, false once it has printed its outcome. */
async function goOn(server: Server): Promise<boolean> {
  server.child.kill('SIGCONT');
  await until(() => server.said() !== '' || isStopped(server));
  return server.said() === '';
}

/** More steps than a start has. */
const maxSteps = 24;

test('if a server is stopped at any step while another starts, one of them gets the socket and keeps it', async t => {
  let isOver = false;
  for (let step = 1; !isOver; step++) {
    assert.ok(step < maxSteps);
    const socketPath = join(temporaryDirectory(t), 'csi.sock');
    await leaveDeadSocket(socketPath);
    const slow = start(t, socketPath, 'slow');
    await until(() => isStopped(slow));
    for (let at = 1; at < step && !isOver; at++) isOver = !(await goOn(slow));
    const fast = start(t, socketPath, 'fast');
    await until(() => fast.said() !== '' || isAtLock(fast, dirname(socketPath)));
    while (slow.said() === '') {
      if (fast.said() === 'ready') assert.ok(await isSocketAnswered(socketPath), `robbed after step ${step}`);
      await goOn(slow);
    }
    await until(() => fast.said() !== '');
    const inUse = `socket "${socketPath}" is in use by a live instance`;
    assert.deepEqual([slow.said(), fast.said()].toSorted(), ['ready', inUse], `step ${step}`);
    assert.deepEqual(readdirSync(dirname(socketPath)), ['csi.sock']);
    assert.ok(await isSocketAnswered(socketPath));
    for (const { child } of [slow, fast]) child.kill('SIGKILL');
  }
});
