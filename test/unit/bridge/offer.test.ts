import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bridgeSettings } from '../../../src/bridge/config.ts';
import { toOffer } from '../../../src/bridge/offer.ts';
import { settingsOf } from '../../harness/program.ts';

const groups = 'CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT';

test('groups are offered only by a driver that makes single snapshots too', () => {
  const config = settingsOf(bridgeSettings, { 'csi-endpoint': '/run/csi/socket', dir: '/records' });
  const featuresOf = (...capabilities: readonly string[]) => {
    const plugin = { name: 'csi.test', version: '1', can: (one: string) => capabilities.includes(one) };
    return toOffer(plugin, config).features;
  };
  assert.ok(!featuresOf(groups).includes('groups'));
  assert.ok(featuresOf(groups, 'CREATE_DELETE_SNAPSHOT').includes('groups'));
});
