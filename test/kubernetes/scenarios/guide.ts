import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packageChart } from '../../../deploy/release/chart.ts';
import { readGuide, toShell } from '../../../docs/guides/guide.ts';
import { apiAddressOf } from '../cluster/addresses.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { startWithNodes } from '../installation/installation.ts';
import type { Scenarios } from './workspace.ts';

const checkout = resolve(import.meta.dirname, '../../..');

/** Follows the guide, as its reader does, on an empty cluster. */
export const guideScenarios: Scenarios = {
  "the guide's commands end with a pod that has a volume, and with nothing": async ({ site, image }) => {
    const { cluster, nodes } = await startWithNodes(site, { number: 3, nodes: ['guide-1'], firstNode: 4 });
    for (const node of nodes) await node.containerd.importImages(image);
    const directory = join(site.directory, 'guide');
    writeTools(cluster, join(directory, 'bin'));
    const downloads = join(directory, 'root');
    packageChart(join(site.bin, 'helm'), downloads);
    const steps = readGuide(join(checkout, 'docs/guides/kubernetes.md'), {
      '192.0.2.10': apiAddressOf(3),
      // The site's own gateway uses port 7700.
      '7700': '7800',
      '/root': downloads,
      '/etc/fairlead': join(directory, 'etc'),
      '/srv/files': join(directory, 'files'),
      '/var/lib/fairlead-gateway': join(directory, 'store'),
    });
    const script = steps.filter(({ machine }) => machine === 'storage').map(toShell);
    mkdirSync(join(directory, 'logs'));
    const log = join(directory, 'logs/guide.log');
    const begin = `exec > ${log} 2>&1; PATH=${directory}/bin:$PATH`;
    await site.run(['bash', '-eu', '-c', [begin, ...script].join('\n')]);
    assert.deepEqual(
      readdirSync(join(directory, 'files')).filter(name => !name.startsWith('.')),
      [],
    );
    assert.equal(await cluster.kubectl('get', 'pv,csidriver', '--output=name'), '');
  },
};

/**
 * Writes the reader's kubectl and helm for their cluster, which already has the image, and the checkout's command, as if the
 * Debian package were installed. `before` are lines of shell that may answer a call of kubectl.
 */
export function writeTools({ site, credentials }: Cluster, directory: string, before = ''): void {
  mkdirSync(directory, { recursive: true });
  const kubeconfig = `--kubeconfig ${credentials.kubeconfigOf('admin')}`;
  const tools = {
    'apt-get': 'exit 0',
    fairlead: `exec ${process.execPath} ${join(checkout, 'src/fairlead.mjs')} "$@"`,
    kubectl: `${before}exec ${site.bin}/kubectl ${kubeconfig} "$@"`,
    helm: `HOME=${site.directory} exec ${site.bin}/helm ${kubeconfig} "$@"`,
  };
  for (const [name, line] of Object.entries(tools)) writeTool(directory, name, line);
}

/** Writes a command of the reader as a line of shell. */
export function writeTool(directory: string, name: string, line: string): void {
  writeFileSync(join(directory, name), `#!/bin/sh\n${line}\n`);
  chmodSync(join(directory, name), 0o755);
}
