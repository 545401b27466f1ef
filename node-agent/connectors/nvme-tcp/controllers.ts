import type { Host } from '../../host.ts';
import { keepWhere, readLine } from '../../host/sysfs.ts';

/** A controller: one way to a subsystem. */
export type Controller = {
  /** Its name, such as `nvme3`. */
  readonly name: string;
  /** Where it is connected to, such as `192.0.2.7:4420`. */
  readonly address: string;
  readonly isLive: boolean;
};

/** The controllers of a subsystem over TCP, whoever connected them. */
export async function readControllers(subsystem: string, host: Host): Promise<readonly Controller[]> {
  const names = await host.list('/sys/class/nvme');
  const controllers = await Promise.all(names.map(name => readController(name, subsystem, host)));
  return controllers.filter(controller => controller !== undefined);
}

async function readController(name: string, subsystem: string, host: Host): Promise<Controller | undefined> {
  const place = `/sys/class/nvme/${name}`;
  const [nqn, transport, address = '', state] = await Promise.all(
    ['subsysnqn', 'transport', 'address', 'state'].map(file => readLine(`${place}/${file}`, host)),
  );
  if (nqn !== subsystem || transport !== 'tcp') return undefined;
  const parts = new Map(address.split(',').map(part => part.split('=') as [string, string]));
  const ip = parts.get('traddr') ?? '';
  return {
    name,
    address: `${ip.includes(':') ? `[${ip}]` : ip}:${parts.get('trsvcid')}`,
    isLive: state === 'live',
  };
}

/**
 * The disks of a subsystem's namespaces. Where the kernel has multipath that is one per namespace, whatever the number
 * of controllers; what lies below it is hidden.
 */
export async function readNamespaces(subsystem: string, host: Host): Promise<readonly string[]> {
  const names = (await host.list('/sys/block')).filter(name => /^nvme\d+n\d+$/.test(name));
  return keepWhere(
    names,
    async name => (await readLine(`/sys/block/${name}/device/subsysnqn`, host)) === subsystem,
  );
}

/** True when the device at a place in sysfs is a namespace that says this of itself, by any of its identifiers. */
export async function isNamespace(place: string, wwid: string, host: Host): Promise<boolean> {
  const [partition, shown, nguid, eui] = await Promise.all(
    ['partition', 'wwid', 'nguid', 'eui'].map(file => readLine(`${place}/${file}`, host)),
  );
  if (partition !== undefined) return false;
  const all = [shown, nguid && `eui.${nguid.replaceAll('-', '')}`, eui && `eui.${eui.replaceAll(' ', '')}`];
  return all.includes(wwid.toLowerCase());
}
