import { execFileSync } from 'node:child_process';
import { openSync } from 'node:fs';
import { serveOrders } from './orders.ts';
import { findPort } from './port.ts';

/** Runs in a virtual machine and executes the host's orders. */
const [role = ''] = process.argv.slice(2);
await serveOrders(openSync(findPort('outcomes'), 'r+'), open());

/** Loads only the modules of the role; on emulated processors that takes half a minute. */
async function open(): Promise<object> {
  if (role === 'share-box' || role === 'zfs-share-box')
    return (await import('./shares/box.ts')).openShareBox(role);
  if (role === 'box' || role === 'thin-box' || role === 'zvol-box')
    return (await import('./box.ts')).openBox(role);
  const { joinNetwork, openNode, openPeer } = await import('./peer.ts');
  const [link = '', ...name] = role.split('-');
  if (link === 'node') execFileSync('modprobe', ['virtio_blk']);
  else if (link === 'network') joinNetwork();
  else if (link === 'volumes') await (await import('../../cinder/volume-machine.ts')).openVolumes();
  else return openPeer(Number(role));
  return openNode(name.join('-'));
}
