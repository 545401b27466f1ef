import { type SpawnSyncReturns, spawnSync } from 'node:child_process';

/** Runs the go command in a module's directory, without C as releases are built; the user's own flags change nothing. */
export function go(module: string, ...args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync('go', args, {
    cwd: module,
    encoding: 'utf8',
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' },
  });
}

/**
 * Why what is in a module's directory cannot be built, in one line: no Go, or no way to fetch modules. Anything else that
 * is wrong is left to fail when it is built. Modules that were fetched once are not fetched again.
 */
export function whatIsMissing(module: string): string | undefined {
  const version = go(module, 'version');
  if (version.status !== 0) return `this needs Go: ${reason(version)}`;
  // Since 1.21 a Go that is too old fetches the one that a module names, or says that it may not.
  if (go(module, 'env', 'GOTOOLCHAIN').stdout.trim() === '') return 'this needs Go 1.21 or newer';
  const download = go(module, 'mod', 'download');
  if (download.status === 0 || isTampering(download) || isBadModuleFile(module)) return undefined;
  return `this needs Go modules that cannot be fetched: ${reason(download)}`;
}

/**
 * Builds the tools that a module names into a directory, each told its version as a release is. Only the linking is done
 * again each time. Throws what Go says.
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
