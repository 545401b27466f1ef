import { join } from 'node:path';
import { homedir } from 'node:os';
import { buildParts, missingPrograms, otherVersions, partOf } from './parts.ts';

/** The directory of the test cluster's programs, outside the checkout so that each is built once. */
export const directory: string =
  process.env['KUBERNETES_BIN_DIR'] ?? join(homedir(), '.cache', 'fairlead', 'kubernetes');

/** Returns the reason why no cluster with these parts, by default the usual ones, can run here, or false if one can. */
export function whyNoCluster(names?: readonly string[]): string | false {
  if (process.getuid?.() !== 0) return 'a cluster needs root';
  const missing = missingPrograms(directory, names);
  return missing.length > 0 && `not in ${directory}: ${missing.join(', ')}`;
}

/**
 * Builds the usual parts, or the named ones. With --versions it builds other versions of Kubernetes, and with --check it
 * only prints the missing programs.
 */
async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--versions')) return buildParts(directory, otherVersions.map(partOf));
  if (!args.includes('--check')) return buildParts(directory, args);
  const reason = whyNoCluster();
  if (reason === false) return;
  process.stderr.write(`no tests on Kubernetes: ${reason}\n`);
  process.exitCode = 1;
}

if (import.meta.main) await main(process.argv.slice(2));
