import { execFileSync } from 'node:child_process';
import { existsSync, globSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import { filesLoadedBy, importsOf } from './imports.ts';

/** What a tier's tests need beside Node: scripts that fetch it where it is missing, and succeed where it cannot be had. */
const tiers: Readonly<Record<string, readonly string[]>> = {
  unit: [],
  machine: ['deploy/install-tools.sh'],
  conformance: ['deploy/install-tools.sh'],
  kubernetes: ['deploy/install-tools.sh'],
  vm: ['deploy/install-tools.sh', 'test/vm/packages.sh'],
  database: ['deploy/install-tools.sh', 'test/database/packages.sh'],
  storage: ['deploy/install-tools.sh', 'test/storage/packages.sh', 'test/vm/packages.sh'],
};

/** What a test needs besides, by what it imports: the chart is rendered with Helm, its alerts are tried by promtool. */
const fetchedFor: Readonly<Record<string, string>> = {
  'deploy/render.ts': 'deploy/fetch-helm.sh',
  'test/unit/deploy/alerts.ts': 'deploy/fetch-promtool.sh',
};

/** The tiers that `npm test` runs, the longest files first, so that none is left to run alone. */
const usual = ['conformance', 'machine', 'unit'];

/**
 * What takes minutes at full length, the longest first; guests compute, and storage systems and loops mostly wait, so that
 * one of each kind comes after the other.
 */
const minutesLong = [
  'test/vm/fleet/boxes.test.ts',
  'test/machine/node-agent/kill.test.ts',
  'test/storage/ceph-shares.test.ts',
  'test/vm/fleet/exports.test.ts',
  'test/machine/gateway/stores/postgres-retries.test.ts',
  'test/storage/ceph-backend.test.ts',
  'test/vm/scsi.test.ts',
  'test/machine/gateway/stores/postgres-services.test.ts',
  'test/storage/ceph-nodes.test.ts',
  'test/vm/fleet/storage-server.test.ts',
  'test/machine/gateway/stores/postgres-kills.test.ts',
  'test/storage/ceph-sanity.test.ts',
  'test/vm/disks.test.ts',
  'test/machine/vendors/kit.test.ts',
  'test/vm/hypervisor.test.ts',
  'test/machine/node-agent/restart.test.ts',
  'test/vm/fleet/sanity.test.ts',
  'test/storage/ceph-vendor.test.ts',
  'test/vm/shares.test.ts',
  'test/storage/ceph-crashes.test.ts',
  'test/conformance/schemathesis.test.ts',
  'test/machine/gateway/replicas/kills.test.ts',
  'test/vm/harness.test.ts',
  'test/machine/gateway/vendor/model.test.ts',
  'test/vm/selinux.test.ts',
  'test/machine/gateway/vendor/crash.test.ts',
  'test/database/patroni.test.ts',
];

/** Test files that are asked for, by tier, folder or file; throws when a name matches none. */
export function findTests(names: readonly string[]): readonly string[] {
  return [...new Set(names.flatMap(findNamed))];
}

/** What `npm test` runs. */
export function usualTests(): readonly string[] {
  return findTests(usual);
}

/** What takes longer at full length, virtual machines, storage systems, database clusters: all that `npm test` leaves out but Kubernetes. */
export function fullTests(): readonly string[] {
  const more = usualTests().filter(file => {
    const loaded = filesLoadedBy(file);
    // What is sampled, and what wants a program that is fetched for the guests.
    return loaded.has('test/harness/sample.ts') || loaded.has('test/packages.ts');
  });
  return [...new Set([...findTests(minutesLong), ...more, ...findTests(['vm', 'storage', 'database'])])];
}

/** How many files run at a time: most wait half of their time, for processes, leases and retries. */
export function slots(): number {
  return 2 * Math.max(2, availableParallelism());
}

/** Fetches what these tests need and nothing else. */
export function prepare(files: readonly string[]): void {
  for (const script of scriptsFor(files)) execFileSync(script, { stdio: 'inherit' });
}

/** The scripts that fetch what these tests need, each once. */
export function scriptsFor(files: readonly string[]): readonly string[] {
  const scripts = files.flatMap(file => [
    ...(tiers[tierOf(file)] ?? []),
    ...importsOf(file).flatMap(({ target }) => fetchedFor[target] ?? []),
  ]);
  return [...new Set(scripts)];
}

function tierOf(file: string): string {
  return file.split('/')[1] ?? '';
}

function findNamed(name: string): readonly string[] {
  const path = tiers[name] === undefined ? relative('.', name) : `test/${name}`;
  if (!existsSync(path)) throw new Error(`there is no tier, folder or file "${name}"`);
  const found = statSync(path).isDirectory() ? globSync(`${path}/**/*.test.ts`).sort() : [path];
  if (found.length === 0) throw new Error(`there is no test in "${name}"`);
  return found;
}
