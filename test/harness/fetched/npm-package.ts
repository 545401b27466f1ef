import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

const cache = join(import.meta.dirname, '../../../node_modules/.cache');

/**
 * Fetches a package such as `@scope/name@1.2.3` from npm, once. Returns its directory, or undefined if it cannot be
 * fetched.
 */
export function fetchPackage(release: string, home: string): string | undefined {
  const directory = join(cache, home);
  if (!existsSync(directory)) install(release, directory);
  const [name = ''] = /^@?[^@]+/.exec(release) ?? [];
  const fetched = join(directory, 'node_modules', name);
  return existsSync(fetched) ? fetched : undefined;
}

/** Installs the package completely or not at all; a concurrent run may be faster. */
function install(release: string, directory: string): void {
  mkdirSync(dirname(directory), { recursive: true });
  const draft = mkdtempSync(`${directory}-`);
  try {
    const argv = ['install', '--no-save', '--no-audit', '--no-fund', '--silent', '--prefix', draft, release];
    execFileSync('npm', argv, { stdio: 'ignore', cwd: draft, timeout: 120_000 });
    execFileSync('chmod', ['755', draft]);
    renameSync(draft, directory);
  } catch {
    rmSync(draft, { recursive: true, force: true });
  }
}
