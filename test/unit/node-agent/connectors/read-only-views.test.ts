import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findViewed } from '../../../../node-agent/connectors/index.ts';
import { createSysfsHost } from '../../../fakes/sysfs.ts';
import { show } from './worlds.ts';

/**
 * Opens a loop device over a mapping whose node below /dev/mapper is a link or a node of its own; `shown` is its path
 * in sysfs.
 */
function open(shown: string, node: string) {
  const host = createSysfsHost();
  for (const root of ['block', 'class/block']) {
    host.put(`/sys/${root}/dm-3/dev`, '254:3');
    host.put(`/sys/${root}/dm-3/dm/name`, 'fairlead-x');
  }
  show(host, 'loop5', { dev: '7:5', ro: '1', 'loop/backing_file': shown });
  host.tools.set('losetup', args => ({ stdout: args.at(-1) === `/.${node}` ? '/dev/loop5\n' : '' }));
  return host;
}

test("a view of a device-mapper device is found by any of the device's nodes", async () => {
  const rows = [
    ['/dev/dm-3', '/dev/dm-3'],
    ['/dev/mapper/fairlead-x', '/dev/mapper/fairlead-x'],
    ['/mapper/fairlead-x', '/dev/mapper/fairlead-x'],
  ] as const;
  for (const [shown, node] of rows) assert.equal(await findViewed('7:5', open(shown, node)), '254:3', shown);
});

test("a loop device of a file with a device's name is no view of the device", async () => {
  const host = open('/srv/images/dm-3', '/srv/images/dm-3');
  assert.equal(await findViewed('7:5', host), undefined);
  assert.equal(await findViewed('7:5', open('/dev/mapper/fairlead-y', '/dev/mapper/fairlead-y')), undefined);
  host.put('/sys/block/loop5/ro', '0');
  assert.equal(await findViewed('7:5', host), undefined);
});
