import { readFileSync } from 'node:fs';

const lookEveryMs = 500;

/** Asks this process to end once that ends which started it; npm and npx put a shell between, which may outlive them. */
export function endWithParent(): Disposable {
  const before = findParents();
  return setInterval(() => {
    if (findParents() !== before) process.kill(process.pid, 'SIGTERM');
  }, lookEveryMs).unref();
}

function findParents(): string {
  const { ppid, env } = process;
  return `${ppid} ${env['npm_execpath'] === undefined ? '' : parentOf(ppid)}`;
}

/** Empty when the process has ended. */
function parentOf(pid: number): string {
  try {
    return /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}
