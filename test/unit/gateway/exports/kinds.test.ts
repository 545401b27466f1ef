import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';

const addresses = ['192.0.2.1'];
const portals = ['192.0.2.1:4420'];
const exports = {
  loop: { protocol: 'loop' },
  'nvme-tcp': { protocol: 'nvme-tcp', addresses: portals },
  iscsi: { protocol: 'iscsi', addresses: portals },
  libvirt: { protocol: 'libvirt' },
  nfs: { protocol: 'nfs', addresses },
};

test('an export of volumes of another kind is a fault of the setting', () => {
  const rows = [
    [backends.image, { dir: '/x' }, ['nfs'], 'files'],
    [backends.dir, { dir: '/x' }, ['loop', 'nvme-tcp', 'iscsi', 'libvirt'], 'directories'],
    [backends.lvm, { group: 'vg0', thinPool: 'pool0' }, ['loop', 'nfs'], 'block devices'],
    [backends.zfs, { dataset: 'tank/x' }, ['loop', 'nfs'], 'block devices'],
  ] as const;
  for (const [{ settings }, own, unfit, noun] of rows)
    for (const [protocol, chosen] of Object.entries(exports)) {
      const faults = settings.safeParse({ ...own, export: chosen }).error?.issues ?? [];
      assert.deepEqual(
        faults.map(({ path, message }) => [path.join('.'), message]),
        unfit.some(one => one === protocol)
          ? [['export', `${protocol} exports no ${noun}; choose another protocol`]]
          : [],
        noun,
      );
    }
});
