import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { hostOf, wayOf, type ConnectionInfo } from '../../examples/cinder/reach.ts';
import type { AttachmentOf } from '../../src/api/attachment.ts';
import { packagesOf } from '../packages.ts';
import { iscsiRecords, MiB, readEach, startGuestNode, untilSeen } from '../vm/guest/agent.ts';
import { loadTarget } from '../vm/targets/configfs.ts';
import { startDaemons, type Daemons } from '../vm/targets/scsi-target.ts';
import { undoLast } from '../vm/targets/undo.ts';

const sizeBytes = 64 * MiB;
const portals = ['127.0.0.1:3260', '127.0.0.2:3260'];

let daemons: Daemons | undefined;
before(async () => {
  execFileSync('mount', [
    '-t',
    'overlay',
    '-o',
    `lowerdir=${packagesOf('cinder')}/usr:/usr`,
    'overlay',
    '/usr',
  ]);
  // Without udev nothing else loads the module of SCSI disks.
  execFileSync('modprobe', ['sd_mod']);
  loadTarget('target_core_mod', 'target_core_iblock', 'iscsi_target_mod');
  daemons = await startDaemons();
});
after(() => daemons?.stop());

const sessions = () => readEach('/sys/class/iscsi_session', 'state');
const disks = () => readdirSync('/sys/block').filter(name => /^(sd|dm-)/.test(name));
const left = () => [...sessions(), ...iscsiRecords(), ...disks()];

/** Runs the program with which Cinder's drivers configure the kernel's iSCSI target. */
const rtstool = (...args: readonly string[]) => execFileSync('cinder-rtstool', args, { stdio: 'inherit' });

/** Exports a volume as Cinder's driver for LVM does. Returns the connection to it as the driver tells it. */
function exportVolume(t: TestContext): ConnectionInfo & { readonly target_iqn: string } {
  const directory = mkdtempSync(join(tmpdir(), 'volume-'));
  undoLast(t, () => rmSync(directory, { recursive: true }));
  const path = join(directory, 'volume');
  writeFileSync(path, '');
  truncateSync(path, sizeBytes);
  const device = execFileSync('losetup', ['--find', '--show', path]).toString().trim();
  undoLast(t, () => execFileSync('losetup', ['--detach', device]));
  const target = `iqn.2010-10.org.openstack:volume-${randomUUID()}`;
  const [user, password] = ['canary-user', 'canary-password'];
  mkdirSync('/etc/rtslib-fb-target', { recursive: true });
  rtstool('create', device, target, user, password, 'False', '-p3260', '-a127.0.0.1,127.0.0.2');
  undoLast(t, () => rtstool('delete', target));
  return {
    driver_volume_type: 'iscsi',
    target_iqn: target,
    target_iqns: [target, target],
    target_lun: 0,
    target_portal: portals[0] ?? '',
    target_portals: portals,
    auth_username: user,
    auth_password: password,
  };
}

test("a node uses a volume that Cinder's driver exports with LIO, until Cinder ends its attachment", async t => {
  const info = exportVolume(t);
  const { auth_username: user = '', auth_password: password = '', target_iqn: target } = info;
  const { toReach, identify } = wayOf(info);
  const names = hostOf('n1');
  rtstool('add-initiator', target, user, password, names.initiator);
  await assert.rejects(identify(info, hostOf('n2')), { code: 'UNAVAILABLE' });
  const wrong = { ...info, auth_password: 'another-password' };
  await assert.rejects(identify(wrong, names), { code: 'UNAVAILABLE' });

  const { secrets = {}, ...reach } = toReach(info, names, await identify(info, names));
  const common = { attachmentId: 'a', sizeBytes, readonly: false, mayFormat: true };
  const attachment = { ...reach, ...common } as AttachmentOf<'iscsi'>;
  const node = await startGuestNode(t);
  const fields = { ...node.volumeAt({ name: 'one', attachment }), secrets };
  await node.requireLife(fields, {
    look: () => assert.deepEqual(sessions(), ['LOGGED_IN', 'LOGGED_IN']),
    left,
  });

  const volume_capability = { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };
  const raw = { ...fields, volume_capability };
  await node.bringUp(raw);
  rtstool('delete-initiator', target, names.initiator);
  await untilSeen(() => !sessions().includes('LOGGED_IN'));
  await assert.rejects(identify(info, names), { code: 'UNAVAILABLE' });
  await node.takeDown(raw);
  assert.deepEqual(left(), []);
});
