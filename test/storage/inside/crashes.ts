import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Backend } from '../../../gateway/backend.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { seed } from '../../harness/sample.ts';
import { makeVolume, newSnapshot, takeSnapshot } from '../../suites/backend-fixtures.ts';
import { describeRest, users } from './cluster.ts';

const directory = mkdtempSync(join(tmpdir(), 'crashes-'));
after(() => rmSync(directory, { recursive: true }));
const [counter, plan] = [join(directory, 'counter'), join(directory, 'plan')];
const realPath = process.env['PATH'] ?? '';

// Ceph's commands, of which one that changes something is never begun, or dies while it works, or ends and cannot say so.
const moments = ['before', 'midway', 'after'] as const;

/** A command of Ceph's takes half a second: a third of the steps has a turn, by the run's seed; all with CEPH_CRASHES=all. */
const share = process.env['CEPH_CRASHES'] === 'all' ? 1 : 3;

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
  midway) timeout --signal=KILL ${program === 'rbd' ? 0.06 : 0.3} ${program} "$@" >${directory}/said 2>&1 ;;
  after) ${program} "$@" >${directory}/said 2>&1 ;;
esac
kill -KILL $$
`,
  );
  chmodSync(path, 0o755);
}

/** Prepares what is then done to a volume with this id. */
export type Work = (backend: Backend, id: string) => Promise<() => Promise<unknown>>;

/** Deletes a volume of which there is a snapshot, and then that. */
export const deleteWithSnapshot: Work = async (backend, id) => {
  const volume = await makeVolume(backend, { id });
  const snapshot = await takeSnapshot(backend, newSnapshot(`${id}-snapshot`, volume));
  return async () => {
    await backend.delete(volume);
    await backend.snapshots?.delete(snapshot);
  };
};

/** A backend, what deletes all that it has, and what requires that nothing of it is left. */
export type Crashing = {
  readonly open: () => Promise<Backend>;
  readonly clear: (backend: Backend) => Promise<void>;
  readonly requireNothingLeft: () => void;
};

/** Declares a test of each work, in which the gateway's commands are killed at steps of it, and the next try follows. */
export function testCrashes(works: Readonly<Record<string, Work>>, crashing: Crashing): void {
  for (const [name, prepare] of Object.entries(works))
    test(`${name}, killed at any step, is done by the next try, or undone, and leaves nothing`, async t => {
      harm();
      process.env['PATH'] = `${directory}:${realPath}`;
      const backend = await crashing.open();
      process.env['PATH'] = realPath;
      t.after(async () => {
        harm();
        await again('not all is deleted', () => crashing.clear(backend));
        crashing.requireNothingLeft();
      });
      const count = await countSteps(backend, { name, prepare });
      const first = seed % Math.min(share, count);
      const steps = Array.from({ length: count }, (_, index) => index + 1).filter(
        step => (step - 1) % share === first,
      );
      for (const [index, step] of steps.entries()) {
        const moment = moments[(index + Math.floor(seed / share)) % moments.length] ?? 'before';
        await crash(backend, { name, prepare, step, moment });
      }
      assert.deepEqual(users(), []);
    });
}

type Tried = { readonly name: string; readonly prepare: Work };

/** How many of Ceph's commands change something when nothing is killed. */
async function countSteps(backend: Backend, { name, prepare }: Tried): Promise<number> {
  const id = 'a.v-0-never';
  const work = await prepare(backend, id);
  harm();
  await work();
  const steps = Number(readFileSync(counter, 'utf8'));
  await remove(backend, { name, id });
  return steps;
}

type Crash = Tried & { readonly step: number; readonly moment: (typeof moments)[number] };

async function crash(backend: Backend, { name, prepare, step, moment }: Crash): Promise<void> {
  const id = `a.v-${step}-${moment}`;
  harm();
  const work = await prepare(backend, id);
  harm(step, moment);
  const outcome = await work().catch((error: unknown) => error);
  const isPast = Number(readFileSync(counter, 'utf8')) < step;
  assert.equal(outcome instanceof Error, !isPast, String(outcome));
  harm();
  const retry = moment === 'midway' ? again : (_: string, one: typeof work) => one();
  if (moment !== 'after' || /^(create|detach)/.test(name)) await retry(`"${id}" is not ${name}`, work);
  await retry(`"${id}" is not deleted`, () => remove(backend, { name, id }));
}

async function remove(backend: Backend, { name, id }: { name: string; id: string }): Promise<void> {
  const volume = { id, nonce: 'own' };
  if (/tach/.test(name)) await backend.detach(volume, 'n1');
  await backend.delete(volume);
}

/** Tries until it is done: the cluster takes a while to know of a command that was killed. The failure tells what is left. */
async function again(fault: string, work: () => Promise<unknown>): Promise<void> {
  let last: unknown;
  const tried = (): Promise<true | undefined> =>
    work().then(
      () => true,
      (error: unknown) => void (last = error),
    );
  if (!(await poll(tried, { everyMs: 250, timeoutMs: 120_000 })))
    assert.fail(`${fault}: ${String(last)}\n${describeRest()}`);
}

/** At this step, or never. */
function harm(step = 0, moment = 'never'): void {
  writeFileSync(counter, '0\n');
  writeFileSync(plan, `${step} ${moment}\n`);
}
