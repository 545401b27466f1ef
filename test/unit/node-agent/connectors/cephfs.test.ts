import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cephfs } from '../../../../node-agent/connectors/cephfs.ts';
import type { AttachmentOf } from '../../../../src/api/attachment.ts';
import { createSysfsHost } from '../../../fakes/sysfs.ts';
import { testShareConnector } from '../../../suites/share-connector.ts';
import { openFakeShares } from '../../../harness/node/shares.ts';
import { common } from './worlds.ts';

const key = 'AQCanaryCanaryCanaryCanaryCanaryCanaryA==';
const secrets = { 'cephfs-key': key };
const monitors = ['192.0.2.7:6789', '[2001:db8::7]:6789'];

function toShare(name: string): AttachmentOf<'cephfs'> {
  const where = { filesystem: 'fs', path: `/volumes/fairlead.c/${name}` };
  return { protocol: 'cephfs', monitors, mode: 'legacy', ...where, user: 'fairlead.1', ...common };
}

function openHost() {
  const host = createSysfsHost();
  host.put('/sys/module/ceph/initstate', 'live');
  return host;
}

testShareConnector({
  name: 'cephfs on the fake machine',
  connector: {
    ...cephfs,
    connect: async (attachment, host) => cephfs.connect(attachment, host, secrets),
  },
  open() {
    const bench = openFakeShares();
    return { ...bench, attach: toShare };
  },
});

test("a share is mounted with its own user; no argument and no option contains the user's key", async () => {
  const host = openHost();
  const share = await cephfs.connect({ ...toShare('v'), mode: 'secure' }, host, secrets);
  const { through, ...rest } = share;
  assert.deepEqual(rest, {
    source: '192.0.2.7:6789,[2001:db8::7]:6789:/volumes/fairlead.c/v',
    type: 'ceph',
    options: ['name=fairlead.1', 'key=client.fairlead.1', 'mds_namespace=fs', 'ms_mode=secure'],
  });
  assert.equal(through?.input, key);
  assert.doesNotMatch(JSON.stringify([rest, through?.args]), /Canary/);
  assert.deepEqual(host.lines, []);
});

test('a text that could be an option is refused as a name, a path or a key', async () => {
  const host = openHost();
  for (const bad of ['a,b', 'a b', '', 'a/b', '-a', 'a\nb'])
    for (const field of ['filesystem', 'user', 'mode', 'path'])
      await assert.rejects(cephfs.connect({ ...toShare('v'), [field]: bad }, host, secrets), {
        code: 'INVALID_ARGUMENT',
      });
  for (const bad of ['/', '/a/../b', '/a//b', '/a/', '/a,b', '/a:b', 'a', '/a\n'])
    await assert.rejects(cephfs.connect({ ...toShare('v'), path: bad }, host, secrets), {
      code: 'INVALID_ARGUMENT',
    });
  for (const given of [{}, { 'cephfs-key': `${key},ro` }, { 'cephfs-key': '' }, { other: key }])
    await assert.rejects(cephfs.connect(toShare('v'), host, given), { code: 'INVALID_ARGUMENT' });
});
