import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Returns the directory into which `test/TIER/packages.sh` unpacks its Debian packages, which are laid over those of the
 * other tiers. It exists once the script has run.
 */
export function packagesOf(tier: string, ...others: readonly string[]): string {
  const hash = createHash('sha256');
  for (const one of [tier, ...others])
    hash.update(readFileSync(new URL(`${one}/packages.sh`, import.meta.url)));
  const name = `${tier}-${hash.digest('hex').slice(0, 12)}`;
  return fileURLToPath(new URL(`../.cache/${name}`, import.meta.url));
}
