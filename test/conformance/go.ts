import { type SpawnSyncReturns, spawnSync } from 'node:child_process';

/** Runs the go command in a module's directory, without C, as releases are built, and without the user's own flags. */
export function go(module: string, ...args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync('go', args, {
    cwd: module,
    encoding: 'utf8',
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' },
  });
}

/**
 * Returns the reason why a module's tools cannot be built, in one line: Go is missing, or modules cannot be fetched.
 * Other faults appear when the tools are built. Modules are fetched once.
 */
export function whyNotBuildable(module: string): string | undefined {
  const version = go(module, 'version');
  if (version.status !== 0) return `this needs Go: ${reason(version)}`;
  // Since 1.21 an outdated Go fetches the toolchain that a module names, or reports that it may not.
  if (go(module, 'env', 'GOTOOLCHAIN').stdout.trim() === '') return 'this needs Go 1.21 or newer';
  const download = go(module, 'mod', 'download');
  if (download.status === 0 || isTampering(download) || isBadModuleFile(module)) return undefined;
  return `this needs Go modules that cannot be fetched: ${reason(download)}`;
}

/**
 * Builds the tools of a module into a directory, each with its version built in as in a release. Only the linking is
 * repeated each time. Throws Go's error output.
 */
export function buildTools(module: string, directory: string): void {
  const list = go(
    module,
    'list',
    '-f',
    '-ldflags={{.ImportPath}}=-X main.version={{.Module.Version}}',
    'tool',
  );
  const flags = linesOf(module, list);
  linesOf(module, go(module, 'build', ...flags, '-o', `${directory}/`, 'tool'));
}

const linesOf = (module: string, run: SpawnSyncReturns<string>) => {
  if (run.status !== 0) throw new Error(`the tools of "${module}" cannot be built: ${reason(run)}`);
  return run.stdout.trim().split('\n');
};

const isTampering = (download: SpawnSyncReturns<string>) => download.stderr.includes('SECURITY ERROR');

const isBadModuleFile = (module: string) => go(module, 'mod', 'edit', '-json').status !== 0;

const reason = (run: SpawnSyncReturns<string>) =>
  (run.error?.message ?? run.stderr).replace(/^go: /, '').trim().replaceAll(/\s+/g, ' ');
