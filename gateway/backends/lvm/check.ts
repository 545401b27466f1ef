import { failureText } from '../../../src/lib/exec.ts';
import { parseRows, runReport, type PoolName } from './commands.ts';

/** The programs that a pool needs, each with a call without effect, and their packages. */
export const programs = [
  { name: 'lvm', args: ['version'], package: 'lvm2' },
  // LVM checks a thin pool with it at each activation.
  { name: 'thin_check', args: ['-V'], package: 'thin-provisioning-tools' },
  { name: 'dmsetup', args: ['--version'], package: 'dmsetup' },
  { name: 'flock', args: ['--version'], package: 'util-linux' },
  { name: 'timeout', args: ['--version'], package: 'coreutils' },
] as const;

/** Reports the obstacles between this machine and a thin pool, one line each. Changes nothing. */
export async function findPoolFaults(pool: PoolName): Promise<readonly string[]> {
  const { group, thinPool } = pool;
  const result = await runReport(pool);
  if (result.status !== 0) return [`volume group "${group}" cannot be read: ${failureText(result.stderr)}`];
  const row = parseRows(group, result).find(one => one.lv_name === thinPool);
  if (row?.segtype !== 'thin-pool')
    return [
      `volume group "${group}" has no thin pool "${thinPool}"; create it with: lvcreate --type thin-pool --size SIZE --name ${thinPool} ${group}`,
    ];
  const name = `${group}/${thinPool}`;
  return [
    // Another volume's old data would be readable.
    ...(row.zero === ''
      ? [`thin pool "${name}" does not zero new blocks; run: lvchange --zero y ${name}`]
      : []),
    ...(row.lv_when_full === 'error'
      ? []
      : [`thin pool "${name}" holds up I/O when it is full; run: lvchange --errorwhenfull y ${name}`]),
    ...(row.discards === 'ignore'
      ? [
          `thin pool "${name}" keeps the blocks that nodes discard; deactivate it and run: lvchange --discards passdown ${name}`,
        ]
      : []),
    ...(/^(none)?$/.test(row.vg_lock_type)
      ? []
      : [
          `volume group "${group}" is shared with other machines; a pool needs a group of this machine alone`,
        ]),
  ];
}
