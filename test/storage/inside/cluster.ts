import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { clusterOf } from '../../../src/api/ids.ts';
import type { Content } from '../../suites/backend-fixtures.ts';

const conf = process.env['CEPH_CONF'] ?? assert.fail('there is no CEPH_CONF');

/** The settings of the test gateway's pool. */
export const settings = {
  conf,
  user: 'admin',
  keyring: join(dirname(conf), 'keyring'),
  pool: 'rbd',
  capacity: '100Gi',
} as const;

/** Runs one of Ceph's commands, given as a line, and returns its output. */
export function run(line: string): string {
  const [program = '', ...args] = line.split(' ');
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${line}: ${stderr}`);
  return stdout;
}

/** Runs one of Ceph's commands and parses its output as JSON. */
export function ask<T>(line: string): T {
  return JSON.parse(run(`${line} --format json`)) as T;
}

/** Lists the images of all clusters, except images of notes, in the notation of Ceph's commands. */
export function images(): readonly string[] {
  return namespaces().flatMap(imagesIn);
}

function imagesIn(space: string): readonly string[] {
  const names = ask<readonly string[]>(`rbd ls rbd/${space}`).filter(name => name !== 'notes');
  return names.map(name => `rbd/${space}/${name}`);
}

function namespaces(): readonly string[] {
  return ask<readonly { readonly name: string }[]>('rbd namespace ls rbd').map(({ name }) => name);
}

/** Finds the only image of a volume. */
export function imageOf(volumeId: string): string {
  const start = `rbd/fairlead.${volumeId.replace('.', '/')}.`;
  const all = imagesIn(`fairlead.${clusterOf(volumeId)}`);
  const [image, ...others] = all.filter(name => name.startsWith(start));
  assert.ok(image !== undefined && others.length === 0, `${volumeId}: ${all.join()}`);
  return image;
}

/** Lists the CephX users of attachments. */
export function users(): readonly string[] {
  const { auth_dump: all } = ask<{ auth_dump: readonly { entity: string }[] }>('ceph auth ls');
  return all.map(({ entity }) => entity).filter(entity => entity.startsWith('client.fairlead.'));
}

/** Lists the clients that have a volume open. */
export function watchersOf(volumeId: string): readonly string[] {
  return watchers(imageOf(volumeId));
}

/** Lists the clients that have an image open. */
export function watchers(image: string): readonly string[] {
  const { watchers: found = [] } = ask<{ watchers?: readonly { address: string }[] }>(`rbd status ${image}`);
  return found.map(({ address }) => address);
}

/** Reads and writes the data of volumes. */
export const content: Content = {
  write: (volumeId, offset, bytes) => writeImage(imageOf(volumeId), offset, bytes),
  read: (volumeId, offset, length) =>
    readImage(imageOf(volumeId), offset + length).subarray(offset, offset + length),
};

export function writeImage(image: string, offset: number, bytes: Uint8Array): void {
  const directory = mkdtempSync(join(tmpdir(), 'content-'));
  const file = join(directory, 'bytes');
  writeFileSync(file, bytes);
  const write = `write -s ${file} ${offset} ${bytes.length}`;
  const url = `rbd:${image}:conf=${conf}`;
  const { status, stdout, stderr } = spawnSync('qemu-io', ['-f', 'raw', '-c', write, '-c', 'flush', url], {
    encoding: 'utf8',
  });
  rmSync(directory, { recursive: true });
  assert.ok(status === 0 && stdout.includes(`wrote ${bytes.length}/`), `${stdout}${stderr}`);
}

/** Reads all data of an image or a snapshot. */
export function contentOf(spec: string): Buffer {
  const { status, stdout, stderr } = spawnSync('rbd', ['export', '--no-progress', spec, '-'], {
    maxBuffer: 2 ** 30,
  });
  assert.equal(status, 0, stderr.toString());
  return stdout;
}

/** Reads the first bytes of an image or a snapshot; fails if it has fewer. */
export function readImage(spec: string, length: number): Buffer {
  const script = 'rbd export --no-progress "$0" - | head --bytes "$1"';
  const { stdout, stderr } = spawnSync('sh', ['-c', script, spec, String(length)], { maxBuffer: 2 ** 30 });
  assert.equal(stdout.length, length, stderr.toString());
  return stdout;
}

/** Fails if images, notes about images, or users are left. */
export function requireNothingLeft(): void {
  assert.deepEqual([rest(), users()], [[], []]);
}

/** Lists the images, and the notes about images. */
export function rest(): readonly string[] {
  return namespaces().flatMap(space => {
    const notes = run(`rbd image-meta list rbd/${space}/notes --format json`);
    return imagesIn(space).concat(notes === '' ? [] : notes);
  });
}

/**
 * Describes the remains in the pool and the filesystem, and everything that can prevent their deletion, to explain a
 * failure.
 */
export function describeRest(): string {
  const ofSpaces = namespaces().flatMap(space => [
    `rbd image-meta list rbd/${space}/notes`,
    `rbd trash ls --all rbd/${space}`,
  ]);
  const ofImages = images().flatMap(image =>
    ['info', 'status', 'snap ls --all', 'lock ls', 'children --all'].map(what => `rbd ${what} ${image}`),
  );
  const ofShares = ['ceph fs subvolume ls files fairlead.a', 'ceph config-key dump fairlead.fs/'];
  const ofCluster = ['ceph status', 'ceph osd blocklist ls'];
  return [...ofSpaces, ...ofImages, ...ofShares, ...ofCluster].map(describe).join('');
}

function describe(line: string): string {
  const [program = '', ...args] = line.split(' ');
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 30_000 });
  return `${line} (${status})\n${stdout}${stderr}`;
}
