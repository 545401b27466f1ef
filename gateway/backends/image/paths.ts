import { join } from 'node:path';
import { clusterOf } from '../../../src/api/ids.ts';
import { Problem } from '../../../src/api/problem.ts';

const imageSuffix = '.img';
const snapshotSuffix = '.snap';

/** Where the image of a volume lies: always right below the root. INVALID_ARGUMENT for what is no volume's id. */
export function imagePath(root: string, id: string): string {
  return join(root, requireId(id, 'volume') + imageSuffix);
}

/** The volume whose image a file is, or undefined when it is something else. */
export function imageId(fileName: string): string | undefined {
  return idOf(fileName, imageSuffix);
}

/** Where all snapshots lie: a directory that no volume's id can name. */
export function snapshotDirectory(root: string): string {
  return join(root, 'snapshots');
}

/** Where a snapshot lies: always right below `snapshotDirectory`. INVALID_ARGUMENT for what is no snapshot's id. */
export function snapshotPath(root: string, id: string): string {
  return join(snapshotDirectory(root), requireId(id, 'snapshot') + snapshotSuffix);
}

/** The snapshot that a file is, or undefined when it is something else. */
export function snapshotId(fileName: string): string | undefined {
  return idOf(fileName, snapshotSuffix);
}

function requireId(id: string, noun: string): string {
  if (clusterOf(id) === undefined) throw new Problem('INVALID_ARGUMENT', `"${id}" is not a ${noun} id`);
  return id;
}

function idOf(fileName: string, suffix: string): string | undefined {
  const id = fileName.endsWith(suffix) ? fileName.slice(0, -suffix.length) : '';
  return clusterOf(id) === undefined ? undefined : id;
}
