import { execFileSync } from 'node:child_process';
import { existsSync, globSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import { filesLoadedBy, importsOf } from './imports.ts';
import { type Part, parts } from './parts.ts';

/**
 * Scripts by tier that fetch the programs its tests need besides Node. A script succeeds even if a program is not
 * available here.
 */
const tiers: Readonly<Record<string, readonly string[]>> = {
  unit: [],
  machine: ['deploy/install-tools.sh'],
  conformance: ['deploy/install-tools.sh'],
  kubernetes: ['deploy/install-tools.sh'],
  vm: ['deploy/install-tools.sh', 'test/vm/packages.sh'],
  browser: ['deploy/install-tools.sh', 'test/browser/packages.sh'],
  database: ['deploy/install-tools.sh', 'test/database/packages.sh'],
  install: ['deploy/install-tools.sh', 'test/install/packages.sh'],
  storage: ['deploy/install-tools.sh', 'test/storage/packages.sh', 'test/vm/packages.sh'],
};

/**
 * Scripts by imported file that a test needs in addition to its tier: Helm renders the chart, promtool tests its
 * alerts, a newer kernel has more than Debian 12's, the modules of ZFS are built, OpenStack is 200 packages, and ember-csi is a
 * driver on PyPI.
 */
const fetchedFor: Readonly<Record<string, string>> = {
  'deploy/render.ts': 'deploy/fetch-helm.sh',
  'test/unit/deploy/alerts.ts': 'deploy/fetch-promtool.sh',
  'test/newer-kernel/kernel.ts': 'test/newer-kernel/packages.sh',
  'test/zfs/zfs.ts': 'test/zfs/packages.sh',
  'test/cinder/cinder.ts': 'test/cinder/packages.sh',
  'test/ember/ember.ts': 'test/ember/packages.sh',
};

/** Each of these scripts builds for many minutes. A run with `--minutes` leaves them out, and skips the tests that need them. */
const slowScripts: ReadonlySet<string> = new Set(['test/zfs/packages.sh']);

/**
 * The tiers that `npm test` runs. Those with the longest files come first, so that no long file runs alone at the end.
 */
const usual = ['conformance', 'machine', 'unit'];

/** Finds test files by tier, folder or file; throws when a name matches none. */
export function findTests(names: readonly string[]): readonly string[] {
  return [...new Set(names.flatMap(findNamed))];
}

/** Lists the files that `npm test` runs. */
export function usualTests(): readonly string[] {
  return findTests(usual);
}

/**
 * Lists the files that `npm test` leaves out, except those for Kubernetes: long runs, virtual machines, storage systems,
 * database clusters, and installations.
 */
export function fullTests(): readonly string[] {
  const more = usualTests().filter(file => {
    const loaded = filesLoadedBy(file);
    // Files that are sampled, and files that need a program that is fetched for the guests.
    return loaded.has('test/harness/sample.ts') || loaded.has('test/packages.ts');
  });
  return [
    ...new Set([
      ...findTests(longTests),
      ...more,
      ...findTests(['browser', 'vm', 'storage', 'database', 'install']),
    ]),
  ];
}

/** All parts of the full tier, with the part `others` for the files that no other part names. */
export function fullParts(): Readonly<Record<string, Part>> {
  const files = fullTests().filter(file => !longTests.includes(file));
  return { ...parts, others: { files, seconds: 600, proves: [] } };
}

const longTests = Object.values(parts).flatMap(({ files }) => files);

/**
 * Returns the number of these files that run at a time. Most files wait half of their time, for processes, leases and
 * retries; a test of clusters has the machine alone.
 */
export function slots(files: readonly string[]): number {
  return files.some(file => tierOf(file) === 'kubernetes') ? 1 : 2 * Math.max(2, availableParallelism());
}

/** Fetches only the programs that these tests need. */
export function prepare(files: readonly string[]): void {
  for (const script of scriptsFor(files)) execFileSync(script, { stdio: 'inherit' });
}

/** Lists the scripts that fetch the programs that these tests need, each once. */
export function scriptsFor(
  files: readonly string[],
  isLimited = process.env['TEST_MINUTES'] !== undefined,
): readonly string[] {
  const scripts = files.flatMap(file => [
    ...(tiers[tierOf(file)] ?? []),
    ...importsOf(file).flatMap(({ target }) => fetchedFor[target] ?? []),
  ]);
  return [...new Set(scripts)].filter(script => !isLimited || !slowScripts.has(script));
}

function tierOf(file: string): string {
  return file.split('/')[1] ?? '';
}

function findNamed(name: string): readonly string[] {
  const path = tiers[name] === undefined ? relative('.', name) : `test/${name}`;
  if (!existsSync(path))
    throw new Error(`there is no tier, folder or file "${name}"; npm test -- --help lists the tiers`);
  const found = statSync(path).isDirectory() ? globSync(`${path}/**/*.test.ts`).sort() : [path];
  if (found.length === 0) throw new Error(`"${name}" has no *.test.ts file; name another folder`);
  return found;
}
