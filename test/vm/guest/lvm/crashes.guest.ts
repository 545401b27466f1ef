import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { backends } from '../../../../gateway/backends/index.ts';
import { createCommands, type Commands } from '../../../../gateway/backends/lvm/commands.ts';
import { openPool } from '../../../../gateway/backends/lvm/pool.ts';
import { createSnapshots } from '../../../../gateway/backends/lvm/snapshots.ts';
import { activate, createVolumes } from '../../../../gateway/backends/lvm/volumes.ts';
import { openLoop } from '../../../../gateway/exports/loop.ts';
import { exec } from '../../../../src/lib/exec.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { seed } from '../../../harness/sample.ts';
import {
  assertHolds,
  contentOf,
  idsOf,
  makeVolume,
  newSnapshot,
  newVolume,
  takeSnapshot,
  type OfferedBackend,
} from '../../../suites/backend-fixtures.ts';
import { loadTarget } from '../../targets/configfs.ts';
import { kernelExports } from '../../targets/exported.ts';
import { lvm, makeThinPool, namesIn, removeVolumes, type ThinPoolName } from '../../targets/thin-pool.ts';

const MiB = 2 ** 20;
const works: (() => unknown)[] = [];
let shared: ThinPoolName | undefined;
before(() => {
  loadTarget();
  shared = makeThinPool({ after: work => void works.push(work as () => unknown) });
});
after(async () => {
  for (const work of works) await work();
});

function poolOf(): ThinPoolName {
  return shared ?? assert.fail('there is no pool');
}

/** The moments of a command's death: it never starts, dies while it works, or ends after its gateway. */
const moments = ['before', 'midway', 'after'] as const;

type Death = { readonly step: number; readonly moment: (typeof moments)[number]; readonly afterMs: number };
const none: Death = { step: -1, moment: 'before', afterMs: 0 };

/** Opens the parts of a backend; the gateway dies with the command at this step. */
function openMortal({ step, moment, afterMs }: Death) {
  const lockPath = join(process.env['TMPDIR'] ?? '/tmp', 'crashes.lock');
  const real = createCommands(poolOf(), lockPath);
  let left = step;
  const change: Commands['change'] = async args => {
    if (left-- !== 0) return real.change(args);
    const seconds = String(afterMs / 1_000);
    if (moment === 'midway')
      await exec('timeout', ['--signal=KILL', seconds, 'lvm', ...args], { timeoutMs: 60_000 });
    if (moment === 'after') await real.change(args);
    throw new Error('ended');
  };
  const pool = openPool(poolOf(), { ...real, change });
  const backend = { ...createVolumes(pool, openLoop()), snapshots: createSnapshots(pool) };
  return { pool, backend: backend as unknown as OfferedBackend['backend'], hasDied: () => left < 0 };
}

type Mortal = OfferedBackend['backend'];
type Work = (backend: Mortal) => Promise<unknown>;

const source = { id: 'a.source', nonce: 'own', sizeBytes: MiB, parameters: {} };
const content = contentOf(id => `/dev/${poolOf().group}/fairlead.volume.${id}`);

/** Work on a volume "a.source" with the data "old"; each may be repeated. */
const mutations: Readonly<Record<string, Work>> = {
  create: backend => makeVolume(backend, { id: 'a.made' }),
  async 'larger clone'(backend) {
    const from = { kind: 'volume', volume: source, attachedForWriting: true } as const;
    const clone = newVolume({ id: 'a.clone', requiredBytes: 3 * MiB, source: from });
    assert.equal((await backend.create(clone)).sizeBytes, 3 * MiB);
    // A killed command may have recorded the volume without activating it, which an attach does.
    lvm('lvchange', '--activate', 'y', `${poolOf().group}/fairlead.volume.a.clone`);
    assertHolds(content, 'a.clone', 0, 'old');
  },
  snapshot: backend => takeSnapshot(backend, newSnapshot('a.snapshot', source, true)),
  expand: backend => backend.expand(source, { requiredBytes: 4 * MiB, limitBytes: 0 }),
  async delete(backend) {
    await backend.delete({ id: 'a.other', nonce: 'own' });
    assert.ok(!(await idsOf(backend)).includes('a.other'));
  },
};

for (const [name, work] of Object.entries(mutations))
  test(`${name}, ended at any step, is finished by the next attempt, and leaves nothing`, async t => {
    let count = 0;
    for (let step = 0, isOver = false; !isOver; step++)
      for (const [index, moment] of moments.entries()) {
        const calm = openMortal(none);
        await makeVolume(calm.backend, { id: source.id });
        await makeVolume(calm.backend, { id: 'a.other' });
        content.write(source.id, 0, Buffer.from('old'));
        const mortal = openMortal({ step, moment, afterMs: 20 + ((seed + step * 7 + index) % 10) * 60 });
        const ended = await work(mortal.backend).then(
          () => undefined,
          (error: unknown) => error,
        );
        isOver = !mortal.hasDied();
        if (isOver) assert.equal(ended, undefined);
        // The next gateway does so at its start.
        await calm.pool.resume((await calm.pool.report()).volumes);
        await activate(calm.pool, [source]);
        await work(calm.backend);
        await work(calm.backend);
        assert.equal(lvm('lvs', '--noheadings', '--select', 'lv_suspended=suspended', poolOf().group), '');
        assertHolds(content, source.id, 0, 'old');
        for (const id of await idsOf(calm.backend.snapshots)) await calm.backend.snapshots.delete({ id });
        for (const id of await idsOf(calm.backend)) await calm.backend.delete({ id });
        assert.deepEqual(namesIn(poolOf()), [], `${moment} step ${step}`);
        count++;
      }
    t.diagnostic(`${name}: ended ${count} times`);
  });

test('a gateway that is killed again and again finds all that it finished, and leaves nothing', async t => {
  const pool = poolOf();
  const plugin = backends.lvm;
  const settings = plugin.settings.parse({ ...pool, export: kernelExports['nvme-tcp'] });
  t.after(() => removeVolumes(pool));
  const program = fileURLToPath(new URL('mortal.ts', import.meta.url));
  for (let round = 0; round < 5; round++) {
    const child = spawn(process.execPath, [program, JSON.stringify(settings), String(round)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const finished: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      finished.push(line);
      if (finished.length !== 3 + ((seed + round) % 4)) continue;
      await sleep(((seed >> round) % 8) * 100);
      child.kill('SIGKILL');
    }
    const backend = (await plugin.open(settings, { name: 'pool', log: silentLog })) as Mortal;
    const found = new Set([...(await idsOf(backend)), ...(await idsOf(backend.snapshots))]);
    for (const id of finished) assert.ok(found.has(id), `${id} of ${finished.join()} is missing`);
    for (const id of await idsOf(backend.snapshots)) await backend.snapshots.delete({ id, nonce: 'own' });
    for (const id of await idsOf(backend)) await backend.delete({ id, nonce: 'own' });
    await backend.close();
    assert.deepEqual(namesIn(pool), ['fairlead.key.pool0']);
    assert.equal(lvm('lvs', '--noheadings', '--select', 'lv_suspended=suspended', pool.group), '');
  }
});
