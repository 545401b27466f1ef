import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Site } from '../cluster/site.ts';
import { install, type InstalledCluster, type Installation } from '../installation/installation.ts';
import { openGuide, type Guide } from './guide.ts';
import { startObjectStore } from './object-store.ts';

/** Two clusters on one gateway with Velero, which the guide installed. */
export type Backups = Installation & { readonly guide: Guide };

/** Installs Fairlead, an object store and Velero. Everything ends with the site. */
export async function installBackups(site: Site): Promise<Backups> {
  const installation = await install(site);
  const images = join(site.bin, 'velero.tar');
  const nodes = [installation.east, installation.west].flatMap(served => served.nodes);
  await Promise.all(nodes.map(node => node.containerd.importImages(images)));
  const guide = openGuide(installation, await startObjectStore(site, 'backups'));
  await guide.follow('velero install');
  return { ...installation, guide };
}

/** Fails with Velero's complaints unless it has completed a backup or a restore. */
export async function requireCompleted(
  { cluster }: InstalledCluster,
  kind: 'backup' | 'restore',
  name: string,
): Promise<void> {
  const kubectl = (...args: readonly string[]) => cluster.kubectl('--namespace=velero', ...args);
  const status = await kubectl('get', `${kind}.velero.io`, name, '--output=jsonpath={.status}');
  const { phase } = JSON.parse(status) as { readonly phase?: string };
  if (phase === 'Completed') return;
  const log = await kubectl('logs', 'deployment/velero', '--since=10m');
  const complaints = log.split('\n').filter(line => /level=(error|warning)/.test(line));
  assert.fail([`${kind} ${name}: ${status}`, ...complaints].join('\n'));
}
