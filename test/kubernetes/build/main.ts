import { join } from 'node:path';
import { homedir } from 'node:os';
import { buildParts, missingPrograms } from './parts.ts';

/** Where the programs of the test cluster are, or are built into: outside the checkout, so that each is built once. */
export const directory: string =
  process.env['KUBERNETES_BIN_DIR'] ?? join(homedir(), '.cache', 'fairlead', 'kubernetes');

/** Why no cluster can run here, or false when one can. */
export function whyNoCluster(): string | false {
  if (process.getuid?.() !== 0) return 'a cluster needs root';
  const missing = missingPrograms(directory);
  return missing.length > 0 && `not in ${directory}: ${missing.join(', ')}`;
}

/** Builds all parts, or those that are named; with --check it only says what is missing. */
function main(args: readonly string[]): void {
  if (!args.includes('--check')) return buildParts(directory, args);
  const reason = whyNoCluster();
  if (reason === false) return;
  process.stderr.write(`no tests on Kubernetes: ${reason}\n`);
  process.exitCode = 1;
}

if (import.meta.main) main(process.argv.slice(2));
