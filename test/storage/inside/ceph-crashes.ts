// What `test/storage/ceph-backend.test.ts` runs where Ceph is: the gateway is killed at each step that changes something.

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Backend, KnownVolume, NodeAccess, VolumeSource } from '../../../gateway/backend.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { seed } from '../../harness/sample.ts';
import {
  assertHolds,
  makeVolume,
  newGroup,
  newSnapshot,
  sourceOf,
  takeSnapshot,
} from '../../suites/backend-fixtures.ts';
import { content, imageOf, requireNothingLeft, users, watchersOf } from './cluster.ts';
import { clear, openBackend } from './pool.ts';

const directory = mkdtempSync(join(tmpdir(), 'crashes-'));
after(() => rmSync(directory, { recursive: true }));
const [counter, plan] = [join(directory, 'counter'), join(directory, 'plan')];
const realPath = process.env['PATH'] ?? '';

// Ceph's commands, of which one that changes something is never begun, or dies while it works, or ends and cannot say so.
const moments = ['before', 'midway', 'after'] as const;
for (const program of ['rbd', 'ceph']) {
  const path = join(directory, program);
  writeFileSync(
    path,
    `#!/bin/sh
PATH=${realPath}
case " $* " in
  *' info '* | *' status '* | *' ls '* | *' list '* | *' get '* | *' dump '* | *' children '*) exec ${program} "$@" ;;
esac
step=$(($(cat ${counter}) + 1))
echo $step >${counter}
read -r fatal when <${plan}
[ $step = "$fatal" ] || exec ${program} "$@"
case $when in
  midway) timeout --signal=KILL 0.06 ${program} "$@" >${directory}/said 2>&1 ;;
  after) ${program} "$@" >${directory}/said 2>&1 ;;
esac
kill -KILL $$
`,
  );
  chmodSync(path, 0o755);
}

const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
const access: NodeAccess = { nodeId: 'n1', attachmentId: 'x1', capability, readonly: false };
const mebibyte = 2 ** 20;

/** Prepares what is then done to a volume with this id. */
type Work = (backend: Backend, id: string) => Promise<() => Promise<unknown>>;

const works: Readonly<Record<string, Work>> = {
  create: async (backend, id) => () => makeVolume(backend, { id }),
  'create from a snapshot': copyOf('snapshot'),
  'create from a volume': copyOf('volume'),
  async expand(backend, id) {
    const volume = await makeVolume(backend, { id });
    return async () => {
      const grown = await backend.expand?.(volume, { requiredBytes: 4 * mebibyte, limitBytes: 0 });
      assert.equal(grown?.sizeBytes, 4 * mebibyte);
    };
  },
  async attach(backend, id) {
    const volume = await makeVolume(backend, { id });
    return () => backend.attach(volume, access);
  },
  async 'detach of a node that has the volume open'(backend, id) {
    const volume = await makeVolume(backend, { id });
    await backend.attach(volume, access);
    await openImage(volume);
    return async () => {
      await backend.detach(volume, 'n1');
      assert.deepEqual(watchersOf(id), []);
    };
  },
  async 'snapshots of a group'(backend, id) {
    const volumes = [await makeVolume(backend, { id }), await makeVolume(backend, { id: 'a.second' })];
    const members = newGroup(volumes);
    for (const member of members) await backend.snapshots?.delete(member);
    return async () => assert.equal((await backend.snapshots?.createGroup?.(members))?.length, 2);
  },
  async delete(backend, id) {
    const volume = await makeVolume(backend, { id });
    return () => backend.delete(volume);
  },
  async 'delete of what a snapshot needs, and then of the snapshot'(backend, id) {
    const volume = await makeVolume(backend, { id });
    const snapshot = await takeSnapshot(backend, newSnapshot(`${id}-snapshot`, volume));
    return async () => {
      await backend.delete(volume);
      await backend.snapshots?.delete(snapshot);
    };
  },
};

function copyOf(kind: VolumeSource['kind']): Work {
  return async (backend, id) => {
    const volume = await makeVolume(backend, { id: 'a.source' });
    content.write(volume.id, 0, Buffer.from('old'));
    const source = await sourceOf(backend, kind, volume);
    return async () => {
      await makeVolume(backend, { id, source });
      assertHolds(content, id, 0, 'old');
    };
  };
}

let client: ChildProcess | undefined;
after(() => client?.kill('SIGKILL'));

/** Has a client watch a volume's image, as a node does. */
async function openImage({ id }: KnownVolume): Promise<void> {
  client?.kill('SIGKILL');
  // It ends with its standard input.
  client = spawn('rbd', ['watch', imageOf(id)], { stdio: ['pipe', 'ignore', 'ignore'] });
  const isOpen = (): true | undefined => watchersOf(id).length > 0 || undefined;
  assert.ok(await poll(isOpen, { everyMs: 100, timeoutMs: 120_000 }));
}

for (const [name, prepare] of Object.entries(works))
  test(`${name}, killed at any step, is done by the next try, or undone, and leaves nothing`, async t => {
    harm();
    process.env['PATH'] = `${directory}:${realPath}`;
    const backend = await openBackend();
    process.env['PATH'] = realPath;
    t.after(async () => {
      harm();
      await again(() => clear(backend));
      requireNothingLeft();
    });
    for (let step = 1, isPast = false; !isPast; step++) {
      // A command of Ceph's takes half a second: each step has one moment, by the run's seed.
      const moment = moments[(step + seed) % moments.length] ?? 'before';
      const id = `a.v-${step}-${moment}`;
      harm();
      const work = await prepare(backend, id);
      harm(step, moment);
      const outcome = await work().catch((error: unknown) => error);
      isPast = Number(readFileSync(counter, 'utf8')) < step;
      assert.equal(outcome instanceof Error, !isPast, String(outcome));
      harm();
      const retry = moment === 'midway' ? again : (one: typeof work) => one();
      if (moment !== 'after' || /^(create|detach)/.test(name)) await retry(work);
      const volume = { id, nonce: 'own' };
      await backend.detach(volume, 'n1');
      await retry(() => backend.delete(volume));
    }
    assert.deepEqual(users(), []);
  });

/** Tries until it is done: the cluster takes a while to know of a command that was killed. */
async function again(work: () => Promise<unknown>): Promise<void> {
  let fault: unknown;
  const tried = (): Promise<true | undefined> =>
    work().then(
      () => true,
      (error: unknown) => void (fault = error),
    );
  assert.ok(await poll(tried, { everyMs: 1_000, timeoutMs: 120_000 }), String(fault));
}

/** At this step, or never. */
function harm(step = 0, moment = 'never'): void {
  writeFileSync(counter, '0\n');
  writeFileSync(plan, `${step} ${moment}\n`);
}
