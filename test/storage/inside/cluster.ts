import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { clusterOf } from '../../../src/api/ids.ts';
import type { Content } from '../../suites/backend-fixtures.ts';

const conf = process.env['CEPH_CONF'] ?? assert.fail('there is no CEPH_CONF');

/** How the gateway of the tests reaches its pool. */
export const settings = {
  conf,
  user: 'admin',
  keyring: join(dirname(conf), 'keyring'),
  pool: 'rbd',
  capacity: '100Gi',
} as const;

/** Runs one of Ceph's commands, with the words of a line; what it printed. */
export function run(line: string): string {
  const [program = '', ...args] = line.split(' ');
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${line}: ${stderr}`);
  return stdout;
}

/** What it printed as JSON. */
export function ask<T>(line: string): T {
  return JSON.parse(run(`${line} --format json`)) as T;
}

/** The images of all clusters, as Ceph's commands name them, but for what holds notes. */
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

/** The one image of a volume. */
export function imageOf(volumeId: string): string {
  const start = `rbd/fairlead.${volumeId.replace('.', '/')}.`;
  const all = imagesIn(`fairlead.${clusterOf(volumeId)}`);
  const [image, ...others] = all.filter(name => name.startsWith(start));
  assert.ok(image !== undefined && others.length === 0, `${volumeId}: ${all.join()}`);
  return image;
}

/** The users of CephX that attachments have. */
export function users(): readonly string[] {
  const { auth_dump: all } = ask<{ auth_dump: readonly { entity: string }[] }>('ceph auth ls');
  return all.map(({ entity }) => entity).filter(entity => entity.startsWith('client.fairlead.'));
}

/** Who has a volume open. */
export function watchersOf(volumeId: string): readonly string[] {
  return watchers(imageOf(volumeId));
}

/** Who has an image open. */
export function watchers(image: string): readonly string[] {
  const { watchers: found = [] } = ask<{ watchers?: readonly { address: string }[] }>(`rbd status ${image}`);
  return found.map(({ address }) => address);
}

/** Reads and writes what volumes hold. */
export const content: Content = {
  write(volumeId, offset, bytes) {
    const directory = mkdtempSync(join(tmpdir(), 'content-'));
    const file = join(directory, 'bytes');
    writeFileSync(file, bytes);
    const write = `write -s ${file} ${offset} ${bytes.length}`;
    const url = `rbd:${imageOf(volumeId)}:conf=${conf}`;
    const { status, stdout, stderr } = spawnSync('qemu-io', ['-f', 'raw', '-c', write, '-c', 'flush', url], {
      encoding: 'utf8',
    });
    rmSync(directory, { recursive: true });
    assert.ok(status === 0 && stdout.includes(`wrote ${bytes.length}/`), `${stdout}${stderr}`);
  },
  read: (volumeId, offset, length) => contentOf(imageOf(volumeId)).subarray(offset, offset + length),
};

/** All that an image or a snapshot holds. */
export function contentOf(spec: string): Buffer {
  const { status, stdout, stderr } = spawnSync('rbd', ['export', '--no-progress', spec, '-'], {
    maxBuffer: 2 ** 30,
  });
  assert.equal(status, 0, stderr.toString());
  return stdout;
}

/** Neither images, nor notes about any, nor users. */
export function requireNothingLeft(): void {
  assert.deepEqual([rest(), users()], [[], []]);
}

/** The images, and the notes about any. */
export function rest(): readonly string[] {
  return namespaces().flatMap(space => {
    const notes = run(`rbd image-meta list rbd/${space}/notes --format json`);
    return imagesIn(space).concat(notes === '' ? [] : notes);
  });
}

/** What is left in the pool and the filesystem, with all that can keep it from being deleted, to explain a failure. */
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
