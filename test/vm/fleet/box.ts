import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { serversLeft, targetsLeft } from '../targets/exported.ts';
import { loadTarget } from '../targets/configfs.ts';
import { address, cableTo } from './cables.ts';
import { openGateway } from './gateway.ts';

const root = '/run/box';
const exported = {
  'nvme-tcp': { protocol: 'nvme-tcp', addresses: [`${address}:4420`], authentication: 'none' },
  iscsi: { protocol: 'iscsi', addresses: [`${address}:3260`] },
  nbd: { protocol: 'nbd', address },
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
  const pools = Object.entries(exported).map(([name, one]) => {
    mkdirSync(`${root}/${name}`, { recursive: true });
    return [name, { backend: 'image', dir: `${root}/${name}`, capacity: '100Gi', export: one }] as const;
  });
  return {
    ...(await openGateway(root, Object.fromEntries(pools))),
    /** Of all that the volume holds. */
    hash: async (name: string, pool: string) => hashOf(pathOf(name, pool)),
    /** How many bytes of its filesystem the volume has. */
    allocated: async (name: string, pool: string) => statSync(pathOf(name, pool)).blocks * 512,
    /** What there is for attachments. */
    left: async () => [...targetsLeft(), ...serversLeft(`${root}/nbd`)],
  };
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
