import { failureText } from '../../../src/lib/exec.ts';
import { hasParity, parseRows, runReport } from './commands.ts';

/** The programs that a pool needs, each with a call without effect, and their packages. */
export const programs = [
  { name: 'zfs', args: ['version'], package: 'zfsutils-linux' },
  { name: 'zpool', args: ['version'], package: 'zfsutils-linux' },
  { name: 'udevadm', args: ['control', '--ping'], package: 'udev' },
  { name: 'flock', args: ['--version'], package: 'util-linux' },
] as const;

/** Reports the obstacles between this machine and a dataset, one line each. Changes nothing. */
export async function findPoolFaults(dataset: string): Promise<readonly string[]> {
  const result = await runReport(dataset);
  if (result.status !== 0)
    return [
      `dataset "${dataset}" cannot be read: ${failureText(result.stderr)}; create it with: zfs create -o mountpoint=none ${dataset}`,
    ];
  const [own] = parseRows(dataset, result);
  if (own?.type !== 'filesystem')
    return [`"${dataset}" is no dataset that can have volumes; name a filesystem`];
  return [
    ...(own.sync === 'disabled'
      ? [`dataset "${dataset}" loses written data in a crash; run: zfs set sync=standard ${dataset}`]
      : []),
    ...(own.readonly === 'on'
      ? [`dataset "${dataset}" is read-only; run: zfs set readonly=off ${dataset}`]
      : []),
    ...(own.keystatus === 'unavailable'
      ? [`the encryption key of dataset "${dataset}" is not loaded; run: zfs load-key ${dataset}`]
      : []),
  ];
}

/** Lists the features that a pool lacks, one line each. */
export async function findMissingFeatures(dataset: string): Promise<readonly string[]> {
  if (!(await hasParity(dataset))) return [];
  return [
    `the pool of dataset "${dataset}" has raidz, where a volume with small blocks takes up to twice its size, so the default capacity promises more than there is; use mirrors, or set "capacity"`,
  ];
}
