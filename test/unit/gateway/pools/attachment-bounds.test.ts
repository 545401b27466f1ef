import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttachmentBounds } from '../../../../gateway/backend.ts';
import { attachmentsSchema } from '../../../../gateway/configuration/attachments.ts';
import { requireWithin } from '../../../../gateway/pools/attachment-bounds.ts';
import { protocols, type Protocol, type Reach } from '../../../../src/api/attachment.ts';

/** The pools of one gateway, each with its storage's answer. */
const pools = {
  images: { bounds: { protocols: ['loop'], roots: ['/srv/fast'] }, own: loop('/srv/fast/east.a.img') },
  directories: { bounds: { protocols: ['bind'], roots: ['/srv/files'] }, own: bind('/srv/files/east.a') },
  shares: {
    bounds: { protocols: ['nfs'], addresses: ['nas.example'], roots: ['/export/files'] },
    own: nfs('nas.example', '/export/files/east.a'),
  },
  nvme: { bounds: { protocols: ['nvme-tcp'], addresses: ['192.0.2.10:4420'] }, own: nvme('192.0.2.10:4420') },
  iscsi: { bounds: { protocols: ['iscsi'], addresses: ['192.0.2.10'] }, own: iscsi('192.0.2.10:3260') },
  machines: { bounds: { protocols: ['device'], serials: ['0a1b'] }, own: device('0a1b2c3d') },
  older: { bounds: { protocols: ['csi'], drivers: ['old.example'] }, own: csi('old.example') },
  ceph: { bounds: { protocols: ['rbd'] }, own: rbd('192.0.2.30:6789') },
  cephfs: { bounds: { protocols: ['cephfs'] }, own: cephfs('192.0.2.30:6789', '/volumes/a') },
} as const satisfies Record<string, { readonly bounds: AttachmentBounds; readonly own: Reach }>;

type PoolName = keyof typeof pools;
const names = Object.keys(pools) as readonly PoolName[];
const refused = { code: 'UNAVAILABLE' };

/** The bounds that an operator gives a pool over REST; usually none. */
const vendors = {
  'without settings': undefined,
  'that may name files and directories of its own': attachmentsSchema.parse({
    protocols: ['loop', 'bind', 'nfs', 'cephfs'],
    roots: ['/srv/acme', '/export/acme', '/acme'],
  }),
  'that may name disks of its own': attachmentsSchema.parse({ protocols: ['device'], serials: ['acme-'] }),
  'that may name addresses of its own': attachmentsSchema.parse({
    addresses: ['198.51.100.0/24', 'acme.example'],
  }),
  'whose root holds the roots of other pools': attachmentsSchema.parse({
    protocols: [...protocols],
    roots: ['/srv', '/export'],
    serials: ['acme-'],
    drivers: ['acme.example'],
    addresses: ['acme.example'],
  }),
  'that may name a driver': attachmentsSchema.parse({ protocols: ['csi'], drivers: ['acme.example'] }),
} as const;

test('each kind of pool over each protocol has its own attachments', () => {
  assert.deepEqual(new Set(names.map(name => pools[name].own.protocol)), new Set(protocols));
  for (const name of names) {
    const reach = judge(name, pools[name].bounds, pools[name].own);
    const isLocal = reach.protocol === 'loop' || reach.protocol === 'bind';
    assert.deepEqual(reach, { ...pools[name].own, ...(isLocal && { pool: name }) });
  }
});

for (const name of names)
  test(`pool "${name}" never gives a node another pool's attachment`, () => {
    for (const other of names.filter(one => one !== name))
      assert.throws(() => judge(name, pools[name].bounds, pools[other].own), refused, other);
  });

for (const [title, bounds] of Object.entries(vendors))
  test(`a vendor's pool ${title} never gives a node another pool's attachment`, () => {
    for (const name of names.filter(one => !isKeyed(pools[one].own.protocol)))
      assert.throws(() => judge('acme', bounds, pools[name].own), refused, name);
  });

/** Attachments that belong to another pool in every spelling. */
const disguised: readonly (readonly [name: string, reach: Reach])[] = [
  ['an IPv4 address as IPv6', nvme('[::ffff:192.0.2.10]:4420')],
  ['an address behind a good one', nvme('198.51.100.1:4420', '192.0.2.10:4420')],
  ['a portal behind a good one', iscsi('198.51.100.1:3260', '192.0.2.10:3260')],
  ['a host in other letters', nfs('NAS.example.', '/x')],
  ['another port of its host', iscsi('192.0.2.10:3261')],
  ['the server by another name', nfs('192.0.2.20', '/export/files/east.a')],
  ['a directory above', nfs('nas.example', '/export')],
  ['a path with dots', nfs('acme.example', '/export/x/../files/east.a')],
  ['a server with a path in it', nfs('nas.example:/export/files', '/a')],
  ['the directory itself', nfs('acme.example', '/export/files')],
  ['another name of its portal', iscsi('alias.example:3260')],
  ["a name of a share's server", nfs('alias.example', '/other')],
  ['a loopback address', nvme('127.0.0.1:4420')],
  ['a loopback address in other letters', nvme('0x7f.1:4420')],
  ['a loopback address as IPv6', nvme('[::ffff:127.0.0.2]:4420')],
  ['a loopback address of IPv6', nvme('[::1]:4420')],
  ['a name of loopback', iscsi('LocalHost.:3260')],
  ['the unspecified address', nvme('0.0.0.0:4420')],
  ['the unspecified address of IPv6', nvme('[::]:4420')],
  ['a link-local address', nvme('169.254.1.2:4420')],
  ['a link-local address of IPv6', nvme('[fe80::1]:4420')],
  ['a loopback address of a monitor', rbd('127.0.0.1:6789')],
];

for (const [name, reach] of disguised)
  test(`a vendor cannot hide that an attachment is another pool's: ${name}`, () => {
    assert.throws(() => judge('acme', undefined, reach), refused);
  });

const strange: readonly (readonly [name: string, bounds: keyof typeof vendors, reach: Reach])[] = [
  ['a file outside of the roots', 'that may name files and directories of its own', loop('/srv/other/x')],
  ['a root itself', 'that may name files and directories of its own', bind('/srv/acme')],
  ['a file beside the root', 'that may name files and directories of its own', loop('/srv/acme-2/x')],
  ['a path that leads out', 'that may name files and directories of its own', loop('/srv/acme/../fast/x')],
  ['a path with two slashes', 'that may name files and directories of its own', bind('/srv/acme//x')],
  ['a disk of the cloud', 'that may name disks of its own', device('vol-0123')],
  ['a disk without a name', 'that may name disks of its own', { protocol: 'device' }],
  ['a volume of another driver', 'that may name a driver', csi('old.example')],
  ['an address outside of the network', 'that may name addresses of its own', nvme('198.51.101.1:4420')],
  ['one such address of two', 'that may name addresses of its own', nvme('198.51.100.1:1', '203.0.113.1:1')],
  ['another monitor', 'that may name addresses of its own', cephfs('203.0.113.1:6789', '/acme/x')],
  ['another server', 'that may name addresses of its own', nfs('nas.example', '/acme/x')],
];

for (const [name, bounds, reach] of strange)
  test(`a vendor's pool ${bounds} does not give a node ${name}`, () => {
    assert.throws(() => judge('acme', vendors[bounds], reach), refused);
  });

test("a vendor's own attachments reach nodes, and those on nodes have the pool's name, even if it answered with another", () => {
  const own: readonly (readonly [keyof typeof vendors, Reach])[] = [
    ['without settings', nvme('198.51.100.1:4420')],
    ['without settings', cephfs('acme.example:6789', '/acme/x')],
    ['that may name addresses of its own', nfs('acme.example', '/acme/x')],
    ['that may name disks of its own', { protocol: 'device', wwid: 'naa.6', serial: 'acme-1' }],
    ['that may name a driver', csi('acme.example')],
    ['that may name addresses of its own', iscsi('198.51.100.9:3260')],
  ];
  for (const [bounds, reach] of own) assert.equal(judge('acme', vendors[bounds], reach), reach);
  const files = vendors['that may name files and directories of its own'];
  const reach = judge('acme', files, { protocol: 'loop', path: '/srv/acme/x', pool: 'images' });
  assert.deepEqual(reach, { ...loop('/srv/acme/x'), pool: 'acme' });
});

test('a name is allowed while no other pool has addresses of the protocol', () => {
  const reach = nvme('acme.example:4420');
  const others = [pools.iscsi.bounds, pools.ceph.bounds];
  assert.equal(requireWithin(reach, { pool: 'acme', bounds: undefined, others }), reach);
});

test('local addresses are allowed if the storage is reached at one, or the operator names them', () => {
  const reach = nvme('127.0.0.1:4420');
  const others = [pools.nvme.bounds];
  assert.equal(requireWithin(reach, { pool: 'acme', bounds: undefined, others, mayBeLocal: true }), reach);
  const bounds = attachmentsSchema.parse({ addresses: ['127.0.0.0/8'] });
  assert.equal(requireWithin(reach, { pool: 'acme', bounds, others }), reach);
  const claimed = [{ ...pools.nvme.bounds, addresses: ['127.0.0.1:4420'] }];
  assert.throws(
    () => requireWithin(reach, { pool: 'acme', bounds: undefined, others: claimed, mayBeLocal: true }),
    refused,
  );
});

test('the error names the protocol, the value and the setting', () => {
  assert.throws(() => judge('acme', undefined, loop('/srv/fast/east.a.img')), {
    ...refused,
    detail:
      'pool "acme": its storage answered with loop as the protocol, which is not allowed; if that is right, change "attachments.protocols" of the pool',
  });
  assert.throws(() => judge('acme', undefined, nvme('192.0.2.10:4420')), {
    detail: /nvme-tcp at "192\.0\.2\.10:4420".*"attachments\.addresses"/,
  });
});

for (const [name, settings] of [
  ['loop without roots', { protocols: ['loop'] }],
  ['bind without roots', { protocols: ['bind', 'nfs'] }],
  ['all files of a node', { protocols: ['loop'], roots: ['/'] }],
  ['disks without serials', { protocols: ['device'] }],
  ['csi without drivers', { protocols: ['csi'] }],
  ['every serial', { protocols: ['device'], serials: [''] }],
  ['no protocol', { protocols: [] }],
  ['an unknown protocol', { protocols: ['floppy'] }],
  ['a URL as an address', { addresses: ['http://nas.example'] }],
  ['a relative root', { roots: ['files'] }],
  ['an unknown member', { ports: [1] }],
] as const)
  test(`"attachments" of a pool cannot allow ${name}`, () => {
    assert.ok(!attachmentsSchema.safeParse(settings).success);
  });

function judge(pool: string, bounds: AttachmentBounds | undefined, reach: Reach): Reach {
  const others = names.filter(name => name !== pool).map(name => pools[name].bounds);
  return requireWithin(reach, { pool, bounds, others });
}

/**
 * Returns true for protocols whose servers require a volume's key, which a stranger lacks: an address alone opens
 * nothing.
 */
function isKeyed(protocol: Protocol): boolean {
  return protocol === 'rbd' || protocol === 'cephfs';
}

function loop(path: string): Reach {
  return { protocol: 'loop', path };
}
function bind(path: string): Reach {
  return { protocol: 'bind', path };
}
function nfs(server: string, path: string): Reach {
  return { protocol: 'nfs', server, path };
}
function nvme(...addresses: readonly string[]): Reach {
  return { protocol: 'nvme-tcp', addresses, subsystem: 'nqn.x', wwid: 'uuid.x' };
}
function iscsi(...portals: readonly string[]): Reach {
  return { protocol: 'iscsi', portals, target: 'iqn.x', lun: 0, serial: 'x' };
}
function csi(driver: string): Reach {
  return { protocol: 'csi', driver, handle: 'vol-1', driverNodeId: 'vm-7' };
}

function device(serial: string): Reach {
  return { protocol: 'device', serial };
}
function rbd(...monitors: readonly string[]): Reach {
  const image = { fsid: 'f', pool: 'p', namespace: 'n', image: 'i', imageId: '1', user: 'u' };
  return { protocol: 'rbd', monitors, mode: 'legacy', ...image };
}
function cephfs(monitor: string, path: string): Reach {
  return { protocol: 'cephfs', monitors: [monitor], mode: 'legacy', filesystem: 'fs', path, user: 'u' };
}
