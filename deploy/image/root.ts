import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../src/lib/version.ts';
import type { NextStep } from '../steps.ts';
import { findNode, ownArchitecture, type Architecture } from './architectures.ts';
import { directories, links, nodeCommand, sbomPath, textFiles } from './contents.ts';
import { assemble, download, unpack } from './debian.ts';
import { link, setPlainModes, write } from './files.ts';
import { copyNode, copyPrograms, fillCompileCache } from './programs.ts';
import { describeContents } from './sbom.ts';

/** A build: the type of processors, and directories. `cache` keeps downloads, `work` is removed afterwards. */
type Build = {
  readonly architecture: Architecture;
  readonly cache: string;
  readonly work: string;
  readonly announce: NextStep;
};

/** The number of steps that `fillRoot` announces. */
export const rootSteps = 6;

/** Writes all files of the image below `root`. */
export function fillRoot(root: string, { architecture, cache, work, announce }: Build): void {
  announce("the download of Debian's packages");
  const files = download(join(cache, 'debs'), architecture);
  announce("the unpacking of Debian's packages");
  const packages = unpack(files, join(work, 'packages'));
  for (const name of directories) mkdirSync(join(root, name), { recursive: true });
  for (const [name, target] of Object.entries(links)) link(target, join(root, name));
  for (const [name, text] of Object.entries(textFiles)) write(join(root, name), text);
  chmodSync(join(root, 'usr/local/bin/fairlead'), 0o755);
  announce('the copy of Node.js');
  copyNode(root, findNode(architecture, cache));
  announce("the copy of the programs and libraries of Debian's packages");
  const debian = assemble(packages, root, [join(root, nodeCommand[0] ?? '')]);
  announce('the copy of Fairlead');
  const npm = copyPrograms(root);
  write(join(root, sbomPath), describeContents({ version, debian, npm }));
  announce('the compile cache');
  // Another processor's programs do not run here, and the image works without the cache.
  if (architecture === ownArchitecture) fillCompileCache(root);
  setPlainModes(root);
}
