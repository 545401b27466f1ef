// What `test/storage/ceph-backend.test.ts` runs where Ceph is: the gateway is killed at each step of what it does for a node.

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Backend, KnownVolume, NodeAccess } from '../../../gateway/backend.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { seed } from '../../harness/sample.ts';
import { makeVolume } from '../../suites/backend-fixtures.ts';
import { imageOf, openCeph, users, watchersOf } from './cluster.ts';

const directory = mkdtempSync(join(tmpdir(), 'crashes-'));
after(() => rmSync(directory, { recursive: true }));
const [counter, plan] = [join(directory, 'counter'), join(directory, 'plan')];
const realPath = process.env['PATH'] ?? '';

// Ceph's commands, of which one is never begun, or dies while it works, or ends and cannot say so.
const moments = ['before', 'midway', 'after'] as const;
for (const program of ['rbd', 'ceph']) {
  const path = join(directory, program);
  writeFileSync(
    path,
    `#!/bin/sh
PATH=${realPath}
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

type Work = {
  readonly prepare: (backend: Backend, volume: KnownVolume) => Promise<unknown>;
  readonly work: (backend: Backend, volume: KnownVolume) => Promise<unknown>;
};

const works: Readonly<Record<string, Work>> = {
  create: {
    prepare: async () => {},
    work: (backend, { id }) => makeVolume(backend, { id }),
  },
  attach: {
    prepare: (backend, { id }) => makeVolume(backend, { id }),
    work: ({ attach }, volume) => attach(volume, access),
  },
  'detach of a node that has the volume open': {
    async prepare(backend, volume) {
      await makeVolume(backend, { id: volume.id });
      await backend.attach(volume, access);
      await openImage(volume);
    },
    work: ({ detach }, volume) => detach(volume, 'n1'),
  },
};

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

for (const [name, { prepare, work }] of Object.entries(works))
  test(`${name}, killed at any step, is done by the next try, or undone, and leaves nothing`, async t => {
    harm();
    process.env['PATH'] = `${directory}:${realPath}`;
    const backend = await openCeph(t);
    process.env['PATH'] = realPath;
    for (let step = 1, isPast = false; !isPast; step++) {
      // A command of Ceph's takes half a second: each step has one moment, by the run's seed.
      const moment = moments[(step + seed) % moments.length] ?? 'before';
      const id = `a.v-${step}-${moment}`;
      const volume = { id, nonce: 'own', sizeBytes: 2 ** 20, parameters: {} };
      harm();
      await prepare(backend, volume);
      harm(step, moment);
      const outcome = await work(backend, volume).catch((error: unknown) => error);
      isPast = Number(readFileSync(counter, 'utf8')) < step;
      assert.equal(outcome instanceof Error, !isPast, String(outcome));
      harm();
      if (moment !== 'after' || name === 'create') await work(backend, volume);
      await backend.detach(volume, 'n1');
      assert.deepEqual([users(), watchersOf(id)], [[], []]);
      await backend.delete(volume);
    }
  });

/** At this step, or never. */
function harm(step = 0, moment = 'never'): void {
  writeFileSync(counter, '0\n');
  writeFileSync(plan, `${step} ${moment}\n`);
}
