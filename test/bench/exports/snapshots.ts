import { execFileSync } from 'node:child_process';
import { newSnapshot } from '../../suites/backend-fixtures.ts';
import { startGuestNode } from '../../vm/guest/agent.ts';
import { accessOf, openExportedPool } from '../../vm/targets/exported.ts';
import { startRawWriter } from '../../vm/targets/raw-writer.ts';
import { lvm, makeThinPool } from '../../vm/targets/thin-pool.ts';
import type { CleanupScope } from '../../vm/targets/undo.ts';
import { timeAlternately, type Figure } from '../figure.ts';

const rounds = 11;
const sizeMiB = 1_024;
/** The data of the volume before the first snapshot. */
const filledMiB = 256;

/** Measures snapshots of a thin volume while a node writes, and alternately the command of LVM alone. */
export async function measureSnapshots(t: CleanupScope): Promise<Figure> {
  const place = makeThinPool(t);
  const pool = await openExportedPool(t, 'nvme-tcp', place);
  const volume = await pool.makeVolume('c.snapshots', sizeMiB);
  const { attachment, secrets } = await pool.attach(volume, accessOf('n1', 'block'));
  const node = await startGuestNode(t);
  const capability = { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;
  const fields = { ...node.volumeAt({ name: 'snapshots', attachment, capability }), secrets };
  await node.bringUp(fields);
  const fill = ['bs=1M', `count=${filledMiB}`, 'oflag=direct', 'status=none'];
  execFileSync('dd', ['if=/dev/zero', `of=${fields.target_path}`, ...fill]);
  const writer = startRawWriter(fields.target_path);
  let count = 0;
  const origin = pool.pathOf(volume.id).slice('/dev/'.length);
  const times = await timeAlternately(rounds, {
    ours: () => pool.backend.snapshots.create(newSnapshot(`c.s${count++}`, volume, true)),
    byHand: async () => lvm('lvcreate', '--yes', '--snapshot', '--name', `by-hand-${count++}`, origin),
  });
  writer.kill('SIGKILL');
  return {
    name: 'snapshot of a thin volume of 1 GiB in use',
    value: times.ours,
    unit: 'ms',
    floor: ['lvcreate --snapshot alone', times.byHand],
    target: '≤ 300 ms',
  };
}
