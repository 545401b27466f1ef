import type { Host } from '../../host.ts';
import { withPort, type Connection } from '../../host/connections.ts';
import { keepWhere, readLine } from '../../host/sysfs.ts';

/** A controller, one way to a subsystem, by its name such as `nvme3`. */
export type Controller = Connection & { readonly name: string };

/** The controllers of a subsystem over TCP, whoever connected them. */
export async function readControllers(subsystem: string, host: Host): Promise<readonly Controller[]> {
  const names = await host.list('/sys/class/nvme');
  const controllers = await Promise.all(names.map(name => readController(name, subsystem, host)));
  return controllers.filter(controller => controller !== undefined);
}

async function readController(name: string, subsystem: string, host: Host): Promise<Controller | undefined> {
  const [nqn, transport, address = '', state] = await Promise.all(
    ['subsysnqn', 'transport', 'address', 'state'].map(file =>
      readLine(`/sys/class/nvme/${name}/${file}`, host),
    ),
  );
  if (nqn !== subsystem || transport !== 'tcp') return undefined;
  const parts = new Map(address.split(',').map(part => part.split('=') as [string, string]));
  return {
    name,
    address: withPort(parts.get('traddr') ?? '', parts.get('trsvcid')),
    isUp: state === 'live',
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

/** True when the device at a path in sysfs is a namespace that says this of itself, by any of its identifiers. */
export async function isNamespace(path: string, wwid: string, host: Host): Promise<boolean> {
  const [partition, shown, nguid, eui] = await Promise.all(
    ['partition', 'wwid', 'nguid', 'eui'].map(file => readLine(`${path}/${file}`, host)),
  );
  if (partition !== undefined) return false;
  const all = [shown, nguid && `eui.${nguid.replaceAll('-', '')}`, eui && `eui.${eui.replaceAll(' ', '')}`];
  return all.includes(wwid.toLowerCase());
}
