import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gatewaySettings } from '../../../gateway/config.ts';
import { startGateway } from '../../../gateway/main.ts';
import { createClient } from '../../../src/api/client.ts';
import type { Capability } from '../../../src/api/storage.ts';
import type { VolumeSpec } from '../../../src/api/volume.ts';
import { createLog } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { createSigner } from '../../harness/gateway-harness.ts';
import { targetsLeft } from '../targets/exported.ts';
import { loadTarget } from '../targets/configfs.ts';
import { address, cableTo } from './cables.ts';

const root = '/run/box';
const pools = {
  'nvme-tcp': { protocol: 'nvme-tcp', addresses: [`${address}:4420`], authentication: 'none' },
  iscsi: { protocol: 'iscsi', addresses: [`${address}:3260`] },
};

/** A storage server: a gateway over a disk of this machine, with a pool for each export, for the cluster "c". */
export async function openBox() {
  execFileSync('modprobe', ['-a', 'virtio_blk', 'virtio_net', 'xfs']);
  execFileSync('ip', ['address', 'add', `${address}/32`, 'dev', 'lo']);
  for (const [index, name] of interfaces().entries()) cableTo(name, index + 1, 'box');
  loadTarget();
  mkdirSync(root, { recursive: true });
  if (!hasFilesystem()) execFileSync('mkfs.xfs', ['-q', '/dev/vda']);
  execFileSync('mount', ['--', '/dev/vda', root]);
  const { client, url, startedMs } = await start();
  return {
    /** How long the gateway took until it served. */
    startedMs: async () => startedMs,
    /** What the gateway's signatures are verified with. */
    keys: async () => (await fetch(`${url}/.well-known/jwks.json`)).text(),
    putNode: (nodeId: string) => client.putNode({ nodeId, body: {} }, call()),
    create: (name: string, pool: string, spec: object) =>
      client.createVolume({ volumeId: `c.${name}`, body: specOf(name, pool, spec) }, call()),
    expand: (name: string, requiredBytes: number) =>
      client.expandVolume({ volumeId: `c.${name}`, body: { requiredBytes } }, call()),
    snapshot: (name: string, volume: string) =>
      client.createSnapshot({ snapshotId: `c.${name}`, body: { name, volumeId: `c.${volume}` } }, call()),
    /** How the node is told of it. */
    async attach(name: string, nodeId: string, accessType: 'mount' | 'block') {
      const body = { capability: capabilityFor(accessType), readonly: false };
      return (await client.attachVolume({ ...keyOf(name, nodeId), body }, call())).attachment;
    },
    detach: (name: string, nodeId: string) => client.detachVolume(keyOf(name, nodeId), call()),
    hash: async (name: string, pool: string) => hashOf(pathOf(name, pool)),
    targetsLeft: async () => targetsLeft(),
  };
}

async function start() {
  const signer = await createSigner('c');
  for (const pool of Object.keys(pools)) mkdirSync(`${root}/${pool}`, { recursive: true });
  writeFileSync(`${root}/c.jwks.json`, JSON.stringify({ keys: [signer.publicJwk] }));
  const entries = Object.entries(pools).map(([name, exported]) => [
    name,
    { backend: 'image', dir: `${root}/${name}`, capacity: '100Gi', export: exported },
  ]);
  const file = { pools: Object.fromEntries(entries) as object, clusters: { c: { keys: 'c.jwks.json' } } };
  writeFileSync(`${root}/gateway.yaml`, JSON.stringify(file));
  const flags = [
    '--listen',
    '127.0.0.1:0',
    '--store',
    `${root}/store.sqlite`,
    '--config',
    `${root}/gateway.yaml`,
  ];
  const { values } = readSettings(gatewaySettings, { argv: flags, env: {} });
  if (!values) throw new Error('the settings have faults');
  const startMs = performance.now();
  const { ready } = await startGateway(values, createLog('gateway', 'info'));
  const url = ready['gateway'] ?? '';
  const client = createClient({ url, token: () => signer.sign() });
  return { client, url, startedMs: performance.now() - startMs };
}

function capabilityFor(accessType: 'mount' | 'block'): Capability {
  return { accessType, accessMode: 'SINGLE_NODE_WRITER' };
}

function specOf(name: string, pool: string, spec: object): VolumeSpec {
  const capabilities = [capabilityFor('mount'), capabilityFor('block')];
  return { name, capabilities, parameters: { pool }, ...spec } as VolumeSpec;
}

function keyOf(name: string, nodeId: string) {
  return { volumeId: `c.${name}`, nodeId };
}

function call() {
  return { deadlineMs: Date.now() + 120_000 };
}

function pathOf(name: string, pool: string): string {
  return `${root}/${pool}/c.${name}.img`;
}

function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

function interfaces(): readonly string[] {
  return readdirSync('/sys/class/net')
    .filter(name => name.startsWith('eth'))
    .toSorted();
}

function hasFilesystem(): boolean {
  return (
    existsSync('/dev/vda') && execFileSync('head', ['-c', '4', '/dev/vda'], { encoding: 'latin1' }) === 'XFSB'
  );
}
