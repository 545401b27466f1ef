import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The directories of udev's rules. */
const directories = [
  '/etc/udev/rules.d',
  '/run/udev/rules.d',
  '/usr/local/lib/udev/rules.d',
  '/usr/lib/udev/rules.d',
  '/lib/udev/rules.d',
];
const file = '57-fairlead.rules';

/** Reports in one line that udev acts on data of volumes, unless a rule prevents it. */
export function findMissingRules(): readonly string[] {
  if (directories.some(directory => existsSync(join(directory, file)))) return [];
  return [
    `udev reads what nodes write to volumes, so a node can make this machine start a RAID or link a label; copy deploy/udev/${file} to ${directories[0]}`,
  ];
}
