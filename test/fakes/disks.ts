import { withPort } from '../../node-agent/host/connections.ts';
import type { ExecResult } from '../../src/lib/exec.ts';
import { hostPort } from '../../src/lib/parsers.ts';
import { showDisk } from './show-disk.ts';
import { addMultipath } from './multipath.ts';
import { createSysfsHost, type SysfsHost } from './sysfs.ts';

type FakeVolume = { sizeBytes: number; readonly name: string };

/** A fake machine, and the volumes that servers offer to it. */
type FakeWorld = { readonly host: SysfsHost; readonly volumes: Map<string, FakeVolume> };

/** Opens a machine whose command `blockdev` works on every disk. */
export function openWorld(): FakeWorld {
  const host = createSysfsHost();
  host.tools.set('blockdev', ([flag, path = '']) => {
    const file = `/sys/block/${path.slice('/dev/'.length)}/ro`;
    if (host.get(file) === undefined) return 1;
    if (flag === '--flushbufs') return 0;
    host.put(file, flag === '--setro' ? '1' : '0');
    return 0;
  });
  host.tools.set('modprobe', args => {
    host.put(`/sys/module/${args.at(-1)}/initstate`, 'live');
    return 0;
  });
  return { host, volumes: new Map() };
}

/**
 * A server with a connection for each address: the addresses that do not answer, and the secret that a client must
 * prove, if any.
 */
type FakeServer = FakeWorld & { readonly silent: Set<string>; readonly demands: { text?: string } };

/** Opens an NVMe subsystem with its namespaces by wwid; live controllers are called `nvme0`, `nvme1` … */
export function openNvmeWorld(subsystem: string): FakeServer {
  const world = openWorld();
  const { host, volumes } = world;
  const silent = new Set<string>();
  const demands: FakeServer['demands'] = {};
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
  const connect = (options: readonly string[], given: string): Partial<ExecResult> | number => {
    const option = (key: string) =>
      options.find(each => each.startsWith(`${key}=`))?.slice(key.length + 1) ?? '';
    const address = withPort(option('traddr'), option('trsvcid'));
    if (silent.has(address)) return { status: 1, stderr: 'no answer' };
    if (!given.includes(demands.text ?? '')) return { status: 1, stderr: 'refused' };
    const taken = host.names('/sys/class/nvme');
    const name = ['nvme0', 'nvme1', 'nvme2'].find(known => !taken.includes(known));
    const facts = {
      subsysnqn: option('nqn'),
      transport: 'tcp',
      state: 'live',
      address: `traddr=${option('traddr')},trsvcid=${option('trsvcid')},src_addr=127.0.0.1`,
    };
    for (const [file, text] of Object.entries(facts)) host.put(`/sys/class/nvme/${name}/${file}`, text);
    const secret = option('dhchap_secret');
    if (secret !== '') host.put(`/sys/class/nvme/${name}/dhchap_secret`, secret);
    show();
    return 0;
  };
  const nqn = 'nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555';
  host.tools.set('nvme', ([verb, ...args]) => {
    const options = args.map(arg => arg.slice('--'.length));
    return verb === 'show-hostnqn' ? { stdout: `${nqn}\n` } : connect(options, '');
  });
  host.tools.set('dd', ([path], input) =>
    path === 'of=/dev/nvme-fabrics' ? connect(input.split(','), input) : 1,
  );
  host.tools.set('grep', () => (host.get('/proc/kallsyms') === 'nvme_auth_negotiate' ? 0 : 1));
  host.tools.set('chmod', ([, mode = '', ...paths]) => {
    for (const path of paths) host.put(`${path}.mode`, mode);
    return 0;
  });
  host.writes.set(/^\/sys\/class\/nvme\/(nvme\d+)\/delete_controller$/, ([, name]) => {
    host.drop(`/sys/class/nvme/${name}`);
    show();
  });
  host.writes.set(/^\/sys\/class\/nvme\/nvme\d+\/rescan_controller$/, show);
  return { ...world, silent, demands };
}

/** Opens an iSCSI target with its units by number; a unit's identifier is `naa.6001405` and its name. */
export function openIscsiWorld(target: string): FakeServer {
  const world = openWorld();
  const { host, volumes } = world;
  const silent = new Set<string>();
  const demands: FakeServer['demands'] = {};
  const recordOf = (portal: string): string => {
    const { host: ip, port } = hostPort(portal);
    return `/etc/iscsi/nodes/${target}/${ip},${port}`;
  };
  const letters = 'abcdefghij';
  let last = 0;
  const dropDisk = (name: string): void => {
    host.drop(`/sys/block/${name}`);
    for (const map of host.names('/sys/block')) host.drop(`/sys/block/${map}/slaves/${name}`);
  };
  const logIn = (portal: string): number => {
    if (silent.has(portal)) return 4;
    if (!host.get(recordOf(portal))?.includes(demands.text ?? '')) return 24;
    const id = String(++last);
    const { host: ip, port } = hostPort(portal);
    host.put(`${session(id)}/targetname`, target);
    host.put(`${session(id)}/state`, 'LOGGED_IN');
    host.put(`${session(id)}/device/../scsi_host/host${id}/state`, 'running');
    host.put(`${connection(id)}/persistent_address`, ip);
    host.put(`${connection(id)}/persistent_port`, port);
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
    // An interface has no state that a test looks at.
    if (args.includes('iface')) return 0;
    const after = (flag: string) => args[args.indexOf(flag) + 1] ?? '';
    const portal = after('--portal');
    if (args.includes('--logout')) return logOut(after('--sid'));
    const record = recordOf(portal);
    if (after('--op') === 'new') host.put(record, '# a record');
    if (host.get(record) === undefined) return 21;
    if (after('--op') === 'delete') host.drop(record);
    return args.includes('--login') ? logIn(portal) : 0;
  });
  host.tools.set('dd', ([to = ''], input) => {
    const record = to.slice('of='.length);
    const text = host.get(record);
    if (text === undefined) return 1;
    host.put(record, `${text}\n${input.trim()}`);
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
  host.writes.set(/^(\/sys\/block\/sd.\/device\/state)$/, ([path = ''], text) => {
    if (text.endsWith('\n')) host.put(path, text.trim());
  });
  addMultipath(host);
  return { ...world, silent, demands };
}

function session(id: string): string {
  return `/sys/class/iscsi_session/session${id}`;
}

function connection(id: string): string {
  return `/sys/class/iscsi_connection/connection${id}:0`;
}

/** Opens a Ceph cluster with images by internal id; `demands` is the key that it accepts. */
export function openRbdWorld(fsid: string): FakeServer & { readonly ids: Map<string, string> } {
  const world = openWorld();
  const { host, volumes } = world;
  const silent = new Set<string>();
  const demands: FakeServer['demands'] = {};
  /** The ids of images that were replaced under their name. */
  const ids = new Map<string, string>();
  let mapped = 0;
  host.writes.set(/^\/sys\/bus\/rbd\/add_single_major$/, (_, text) => {
    const [, options = '', pool = '', image = '', snapshot = ''] = text.split(' ');
    const id = ids.get(image) ?? `id-${image}`;
    const volume = volumes.get(id);
    // The kernel refuses with an error, and no device appears.
    if (!volume || !options.includes(demands.text ?? '')) return;
    const pool_ns = /_pool_ns=([^,]*)/.exec(options)?.[1] ?? '';
    const facts = { cluster_fsid: fsid, pool, pool_ns, name: image, image_id: id, current_snap: snapshot };
    const inSysfs = Object.entries(facts).map(([file, fact]) => [`device/${file}`, fact]);
    showDisk(host, { name: `rbd${mapped++}`, sizeBytes: volume.sizeBytes }, Object.fromEntries(inSysfs));
  });
  host.writes.set(/^\/sys\/bus\/rbd\/remove_single_major$/, (_, text) =>
    host.drop(`/sys/block/rbd${text.split(' ', 1)[0]}`),
  );
  host.writes.set(/^\/sys\/block\/(rbd\d+)\/device\/refresh$/, ([, name = '']) => {
    const volume = volumes.get(host.get(`/sys/block/${name}/device/image_id`) ?? '');
    host.put(`/sys/block/${name}/size`, (volume?.sizeBytes ?? 0) / 512);
  });
  return { ...world, silent, demands, ids };
}
