import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Returns the directory into which `test/TIER/packages.sh` unpacks its Debian packages. It exists once the script has
 * run.
 */
export function packagesOf(tier: string): string {
  const list = readFileSync(new URL(`${tier}/packages.sh`, import.meta.url));
  const name = `${tier}-${createHash('sha256').update(list).digest('hex').slice(0, 12)}`;
  return fileURLToPath(new URL(`../.cache/${name}`, import.meta.url));
}
