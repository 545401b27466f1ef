import { createSysfsHost, type SysfsHost } from './sysfs.ts';

/** What a server has of a volume. */
export type FakeVolume = { sizeBytes: number; readonly name: string };

/** A fake machine, and the volumes that servers have for it. */
export type FakeWorld = { readonly host: SysfsHost; readonly volumes: Map<string, FakeVolume> };

let used = 0;

/** Shows a disk: by its name, its size, and what it says of itself, as files below its directory in /sys/block. */
export function showDisk(
  host: SysfsHost,
  { name, sizeBytes }: { readonly name: string; readonly sizeBytes: number },
  facts: Readonly<Record<string, string>> = {},
): void {
  const place = `/sys/block/${name}`;
  const all = { dev: `8:${++used}`, size: String(sizeBytes / 512), ro: '0', ...facts };
  for (const [file, text] of Object.entries(all)) host.put(`${place}/${file}`, text);
}

/** A machine with `blockdev`, which every disk obeys. */
export function openWorld(): FakeWorld {
  const host = createSysfsHost();
  host.tools.set('blockdev', ([flag, path = '']) => {
    const file = `/sys/block/${path.slice('/dev/'.length)}/ro`;
    if (host.get(file) === undefined) return 1;
    host.put(file, flag === '--setro' ? '1' : '0');
    return 0;
  });
  host.tools.set('modprobe', args => {
    host.put(`/sys/module/${args.at(-1)}/initstate`, 'live');
    return 0;
  });
  return { host, volumes: new Map() };
}

/** An NBD server: by name, what it exports; the kernel has its connections. */
export function openNbdWorld(): FakeWorld {
  const world = openWorld();
  const { host, volumes } = world;
  host.tools.set('node', ([, , operation, ...rest]) => {
    if (operation === 'disconnect') {
      const place = `/sys/block/nbd${rest[0]}`;
      if (['backend', 'pid'].every(file => host.get(`${place}/${file}`) === undefined)) return 1;
      showDisk(host, { name: `nbd${rest[0]}`, sizeBytes: 0 });
      for (const file of ['backend', 'pid']) host.drop(`${place}/${file}`);
      return 0;
    }
    const [, , name = '', identifier = '', mode, index] = rest;
    const volume = volumes.get(name);
    if (!volume) return { status: 1, stderr: 'the server has no such export' };
    if (operation === 'size') return { stdout: `${volume.sizeBytes}\n` };
    if (operation === 'reconnect') return host.get(`/sys/block/nbd${index}/backend`) === identifier ? 0 : 1;
    const isFree = (number: number) => host.get(`/sys/block/nbd${number}/pid`) === undefined;
    const free = index ?? [...Array(16).keys()].find(isFree);
    showDisk(
      host,
      { name: `nbd${free}`, sizeBytes: volume.sizeBytes },
      { dev: `43:${free}`, ro: mode === 'ro' ? '1' : '0', backend: identifier, pid: '7' },
    );
    return { stdout: `${free}\n` };
  });
  return world;
}

/** An NVMe subsystem: by their wwid, its namespaces; the names of live controllers are `nvme0`, `nvme1` … */
export function openNvmeWorld(subsystem: string): FakeWorld & { readonly silent: Set<string> } {
  const world = openWorld();
  const { host, volumes } = world;
  const silent = new Set<string>();
  host.put('/sys/module/nvme_core/parameters/multipath', 'Y');
  const show = (): void => {
    const isConnected = host.names('/sys/class/nvme').length > 0;
    for (const [wwid, { name, sizeBytes }] of volumes) {
      const known = host.get(`/sys/block/${name}/dev`);
      if (!isConnected) host.drop(`/sys/block/${name}`);
      else if (known !== undefined) host.put(`/sys/block/${name}/size`, sizeBytes / 512);
      else showDisk(host, { name, sizeBytes }, { wwid, 'device/subsysnqn': subsystem });
    }
  };
  host.tools.set('nvme', args => {
    const option = (key: string) =>
      args.find(arg => arg.startsWith(`--${key}=`))?.slice(key.length + 3) ?? '';
    const address = `${option('traddr')}:${option('trsvcid')}`;
    if (silent.has(address)) return { status: 1, stderr: 'no answer' };
    const taken = host.names('/sys/class/nvme');
    const name = ['nvme0', 'nvme1', 'nvme2'].find(known => !taken.includes(known));
    const facts = {
      subsysnqn: option('nqn'),
      transport: 'tcp',
      state: 'live',
      address: `traddr=${option('traddr')},trsvcid=${option('trsvcid')},src_addr=127.0.0.1`,
    };
    for (const [file, text] of Object.entries(facts)) host.put(`/sys/class/nvme/${name}/${file}`, text);
    show();
    return 0;
  });
  host.writes.set(/^\/sys\/class\/nvme\/(nvme\d+)\/delete_controller$/, ([, name]) => {
    host.drop(`/sys/class/nvme/${name}`);
    show();
  });
  host.writes.set(/^\/sys\/class\/nvme\/nvme\d+\/rescan_controller$/, show);
  return { ...world, silent };
}

/** An iSCSI target: by its number, its units; what they say of themselves is `naa.6001405` and their name. */
export function openIscsiWorld(target: string): FakeWorld & { readonly silent: Set<string> } {
  const world = openWorld();
  const { host, volumes } = world;
  const silent = new Set<string>();
  const records = new Set<string>();
  const letters = 'abcdefghij';
  let last = 0;
  const dropDisk = (name: string): void => {
    host.drop(`/sys/block/${name}`);
    for (const map of host.names('/sys/block')) host.drop(`/sys/block/${map}/slaves/${name}`);
  };
  const logIn = (portal: string): number => {
    if (silent.has(portal)) return 4;
    const id = String(++last);
    const colon = portal.lastIndexOf(':');
    host.put(`${session(id)}/targetname`, target);
    host.put(`${session(id)}/state`, 'LOGGED_IN');
    host.put(`${session(id)}/device/../scsi_host/host${id}/state`, 'running');
    host.put(`${connection(id)}/persistent_address`, portal.slice(0, colon).replaceAll(/[[\]]/g, ''));
    host.put(`${connection(id)}/persistent_port`, portal.slice(colon + 1));
    return 0;
  };
  const logOut = (id: string): number => {
    for (const group of host.names(`${session(id)}/device/target${id}:0:0`))
      for (const name of host.names(`${session(id)}/device/target${id}:0:0/${group}/block`)) dropDisk(name);
    host.drop(session(id));
    host.drop(connection(id));
    return 0;
  };
  host.tools.set('iscsiadm', args => {
    const after = (flag: string) => args[args.indexOf(flag) + 1] ?? '';
    const portal = after('--portal');
    if (args.includes('--logout')) return logOut(after('--sid'));
    if (args.includes('--login')) return records.has(portal) ? logIn(portal) : 21;
    if (after('--op') === 'delete') return records.delete(portal) ? 0 : 21;
    if (after('--op') === 'update') return records.has(portal) ? 0 : 21;
    records.add(portal);
    return 0;
  });
  host.writes.set(/^\/sys\/class\/scsi_host\/host(\d+)\/scan$/, ([, id = ''], text) => {
    const lun = text.split(' ').at(-1) ?? '';
    const volume = volumes.get(lun);
    const place = `${session(id)}/device/target${id}:0:0/${id}:0:0:${lun}`;
    if (!volume || host.names(place).length > 0) return;
    const taken = host.names('/sys/block');
    const name = [...letters].map(letter => `sd${letter}`).find(known => !taken.includes(known)) ?? '';
    host.put(`${place}/block/${name}/dev`, 'x');
    const facts = { 'device/wwid': `naa.6001405${volume.name}`, 'device/unit': place, 'device/lun': lun };
    showDisk(host, { name, sizeBytes: volume.sizeBytes }, facts);
  });
  host.writes.set(/^\/sys\/block\/(sd.)\/device\/delete$/, ([, name = '']) => {
    host.drop(host.get(`/sys/block/${name}/device/unit`) ?? '');
    dropDisk(name);
  });
  host.writes.set(/^\/sys\/block\/(sd.)\/device\/rescan$/, ([, name = '']) => {
    const volume = volumes.get(host.get(`/sys/block/${name}/device/lun`) ?? '');
    host.put(`/sys/block/${name}/size`, (volume?.sizeBytes ?? 0) / 512);
  });
  addMultipath(host);
  return { ...world, silent };
}

/** multipathd: it makes one map of the disks that say the same of themselves. */
function addMultipath(host: SysfsHost): void {
  const uuidOf = (disk: string) =>
    host.get(`/sys/block/${disk}/device/wwid`)?.replace('naa.', 'mpath-3') ?? 'mpath-';
  const mapOf = (uuid: string) =>
    host.names('/sys/block').find(name => host.get(`/sys/block/${name}/dm/uuid`) === uuid);
  const addPath = (disk: string): void => {
    const uuid = uuidOf(disk);
    const size = Number(host.get(`/sys/block/${disk}/size`));
    const known = mapOf(uuid);
    const map = known ?? `dm-${host.names('/sys/block').filter(name => name.startsWith('dm-')).length}`;
    if (!known)
      showDisk(host, { name: map, sizeBytes: size * 512 }, { 'dm/uuid': uuid, 'dm/name': uuid.slice(6) });
    host.put(`/sys/block/${map}/slaves/${disk}/dev`, 'x');
    host.put(`/sys/block/${disk}/holders/${map}/dev`, 'x');
  };
  const removePath = (disk: string): void => {
    host.drop(`/sys/block/${disk}/holders`);
    for (const map of host.names('/sys/block')) host.drop(`/sys/block/${map}/slaves/${disk}`);
  };
  const flush = (name: string): number => {
    const map = mapOf(`mpath-${name}`);
    if (map === undefined) return 1;
    for (const disk of host.names(`/sys/block/${map}/slaves`)) host.drop(`/sys/block/${disk}/holders`);
    host.drop(`/sys/block/${map}`);
    return 0;
  };
  host.tools.set('multipath', ([flag, name = '']) => (flag === '-f' ? flush(name) : 0));
  host.tools.set('multipathd', ([verb, , name = '']) => {
    if (verb === 'add') addPath(name);
    if (verb === 'del') removePath(name);
    const map = mapOf(`mpath-${name}`);
    const [path] = map === undefined ? [] : host.names(`/sys/block/${map}/slaves`);
    if (verb === 'resize') host.put(`/sys/block/${map}/size`, host.get(`/sys/block/${path}/size`) ?? '0');
    return 0;
  });
}

function session(id: string): string {
  return `/sys/class/iscsi_session/session${id}`;
}

function connection(id: string): string {
  return `/sys/class/iscsi_connection/connection${id}:0`;
}
