import { readFileSync } from 'node:fs';

const checkEveryMs = 500;

/**
 * Sends SIGTERM to this process when its parent ends. Under npm and npx the parent is a shell that may outlive them, so it
 * watches the grandparent, too.
 */
export function endWithParent(): Disposable {
  const before = findParents();
  return setInterval(() => {
    if (findParents() !== before) process.kill(process.pid, 'SIGTERM');
  }, checkEveryMs).unref();
}

function findParents(): string {
  const { ppid, env } = process;
  return `${ppid} ${env['npm_execpath'] === undefined ? '' : parentOf(ppid)}`;
}

/** Returns the id of a process's parent; empty when the process has ended. */
function parentOf(pid: number): string {
  try {
    return /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}
