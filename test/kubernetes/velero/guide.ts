import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readGuide, toShell } from '../../../docs/guides/guide.ts';
import type { Installation } from '../installation/installation.ts';
import { writeTool } from '../scenarios/guide.ts';
import type { ObjectStore } from './object-store.ts';

const checkout = resolve(import.meta.dirname, '../../..');

/** The guide to Velero. */
export interface Guide {
  /** Runs the next commands, up to the first block with this text. */
  follow(until: string): Promise<void>;
}

/** Opens the guide for a reader with the contexts of both clusters, and with the key of the gateway's operator. */
export function openGuide({ site, gateway, east, west }: Installation, store: ObjectStore): Guide {
  const directory = join(site.directory, 'backups');
  mkdirSync(directory);
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  writeTool(bin, 'fairlead', `exec ${process.execPath} ${join(checkout, 'src/fairlead.mjs')} "$@"`);
  const kubeconfig = join(directory, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(mergeContexts({ east, west })), { mode: 0o600 });
  const environment = [
    `PATH=${bin}:${site.bin}:${process.env['PATH'] ?? ''}`,
    `HOME=${directory}`,
    `KUBECONFIG=${kubeconfig}`,
  ];
  const steps = readGuide(join(checkout, 'docs/guides/backup.md'), {
    '/root': directory,
    '/etc/fairlead/tls.crt': gateway.certificate,
    '/etc/fairlead/operators.key.json': gateway.operatorKey,
    'https://storage.example:7700': gateway.url,
    'https://s3.example': store.url,
    'ACCESS-KEY': store.accessKey,
    'SECRET-KEY': store.secretKey,
  }).map(toShell);
  let next = 0;
  return {
    async follow(until) {
      const last = steps.findIndex((text, index) => index >= next && text.includes(until));
      assert.notEqual(last, -1, `the guide goes on with "${until}"`);
      const script = steps.slice(next, last + 1).join('\n');
      next = last + 1;
      await site.run(['env', ...environment, 'bash', '-eu', '-c', script]);
    },
  };
}

/** Makes a kubeconfig with a context of the administrator for each cluster, by the cluster's name. */
function mergeContexts(clusters: Pick<Installation, 'east' | 'west'>): object {
  const configs = Object.entries(clusters).map(
    ([
      name,
      {
        cluster: { credentials },
      },
    ]) => {
      const text = readFileSync(credentials.kubeconfigOf('admin'), 'utf8');
      const config = JSON.parse(text) as {
        readonly clusters: readonly { readonly cluster: object }[];
        readonly users: readonly { readonly user: object }[];
      };
      return { name, cluster: config.clusters[0]?.cluster, user: config.users[0]?.user };
    },
  );
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: configs.map(({ name, cluster }) => ({ name, cluster })),
    users: configs.map(({ name, user }) => ({ name, user })),
    contexts: configs.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
  };
}
