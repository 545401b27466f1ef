import { chmodSync, globSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launcherOf, nodeCommand } from '../../../deploy/image/contents.ts';
import { capture } from '../cluster/capture.ts';
import type { Site } from '../cluster/site.ts';

const checkout = resolve(import.meta.dirname, '../../..');

/** The path of the previous release's files in a container. */
const home = '/opt/previous';
const entry = 'package/lib/fairlead.mjs';

/** The programs of the previous release. */
export interface PreviousRelease {
  readonly version: string;
  /** The beginning of its command lines. */
  readonly command: readonly string[];
  /** Makes values in Helm's syntax, with which a component of the chart runs this release in the image of this version. */
  valuesOf(component: 'controller' | 'node'): readonly string[];
}

/** Unpacks the previous release into a directory of the site. */
export async function unpackPrevious(site: Site): Promise<PreviousRelease> {
  const [release = ''] = globSync(join(checkout, 'test/releases/fairlead-*.tgz'));
  const directory = join(site.directory, 'previous');
  mkdirSync(directory);
  await capture(['tar', '--extract', '--no-same-owner', '--file', release, '--directory', directory]);
  const launcher = join(directory, 'fairlead');
  writeFileSync(launcher, launcherOf(nodeCommand, join(home, entry)));
  chmodSync(launcher, 0o755);
  const mounts = { [home]: directory, '/usr/local/bin/fairlead': launcher };
  return {
    version: /fairlead-(.*)\.tgz$/.exec(release)?.[1] ?? '',
    command: [process.execPath, join(directory, entry)],
    valuesOf: component =>
      Object.entries(mounts).flatMap(([mountPath, path], index) => [
        `${component}.extraVolumes[${index}].name=previous-${index}`,
        `${component}.extraVolumes[${index}].hostPath.path=${path}`,
        `${component}.extraVolumeMounts[${index}].name=previous-${index}`,
        `${component}.extraVolumeMounts[${index}].mountPath=${mountPath}`,
      ]),
  };
}
