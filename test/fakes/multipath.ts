import { showDisk } from './show-disk.ts';
import type { SysfsHost } from './sysfs.ts';

/** Adds multipathd, which makes one map of all disks with the same identifier. */
export function addMultipath(host: SysfsHost): void {
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
