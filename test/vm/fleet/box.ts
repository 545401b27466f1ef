import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { targetsLeft } from '../targets/exported.ts';
import { loadTarget } from '../targets/configfs.ts';
import { address, cableTo } from './cables.ts';
import { openGateway } from './gateway.ts';
import { hashOf } from '../../harness/values.ts';

const root = '/run/box';
const exported = {
  'nvme-tcp': { protocol: 'nvme-tcp', addresses: [`${address}:4420`], authentication: 'none' },
  iscsi: { protocol: 'iscsi', addresses: [`${address}:3260`] },
};

/** Opens a storage server for the cluster "c": a gateway over a disk of this machine, with a pool for each export. */
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
    /** Returns the hash of the volume's data. */
    hash: async (name: string, pool: string) => hashOf(pathOf(name, pool)),
    /** Returns the bytes that the volume takes of its filesystem. */
    allocated: async (name: string, pool: string) => statSync(pathOf(name, pool)).blocks * 512,
    /** Lists the kernel objects of attachments. */
    left: async () => targetsLeft(),
  };
}

function pathOf(name: string, pool: string): string {
  return `${root}/${pool}/c.${name}.img`;
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
