import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Waits until the process has exited, which it may have done before: then its `exit` event is over. Returns its status. */
export async function waitForExit(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

/** Sends the signal and waits until the process has exited. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  child.kill(signal);
  await waitForExit(child);
}
