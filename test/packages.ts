import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Where `test/TIER/packages.sh` unpacks its Debian packages; it is there once it has run. */
export function packagesOf(tier: string): string {
  const list = readFileSync(new URL(`${tier}/packages.sh`, import.meta.url));
  const name = `${tier}-${createHash('sha256').update(list).digest('hex').slice(0, 12)}`;
  return fileURLToPath(new URL(`../.cache/${name}`, import.meta.url));
}
