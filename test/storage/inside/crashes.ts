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

// The moments of a command's death: it is never started, it dies while it works, or it ends without an answer.
const moments = ['before', 'midway', 'after'] as const;

/**
 * The share of steps that are killed, chosen by the run's seed: one in three, since a command takes half a second; all
 * with CEPH_CRASHES=all.
 */
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

/** Prepares the work on a volume with this id. */
export type Work = (backend: Backend, id: string) => Promise<() => Promise<unknown>>;

/** Deletes a volume that has a snapshot, and then the snapshot. */
export const deleteWithSnapshot: Work = async (backend, id) => {
  const volume = await makeVolume(backend, { id });
  const snapshot = await takeSnapshot(backend, newSnapshot(`${id}-snapshot`, volume));
  return async () => {
    await backend.delete(volume);
    await backend.snapshots?.delete(snapshot);
  };
};

/** A backend, with functions that delete everything in it and that fail if anything is left. */
export type CrashSubject = {
  readonly open: () => Promise<Backend>;
  readonly clear: (backend: Backend) => Promise<void>;
  readonly requireNothingLeft: () => void;
};

/** Declares a test of each work: the gateway's commands are killed at steps of it, and the next attempt follows. */
export function testCrashes(works: Readonly<Record<string, Work>>, crashing: CrashSubject): void {
  for (const [name, prepare] of Object.entries(works))
    test(`${name}, killed at any step, is finished or undone by the next attempt, and leaves nothing`, async t => {
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

type NamedWork = { readonly name: string; readonly prepare: Work };

/** Counts the commands of an uninterrupted run that change something. */
async function countSteps(backend: Backend, { name, prepare }: NamedWork): Promise<number> {
  const id = 'a.v-0-never';
  const work = await prepare(backend, id);
  harm();
  await work();
  const steps = Number(readFileSync(counter, 'utf8'));
  await remove(backend, { name, id });
  return steps;
}

type Crash = NamedWork & { readonly step: number; readonly moment: (typeof moments)[number] };

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

/**
 * Repeats the work until it succeeds, because the cluster notices a killed command with a delay. The failure describes
 * the remains.
 */
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

/** Kills the command at this step, or none. */
function harm(step = 0, moment = 'never'): void {
  writeFileSync(counter, '0\n');
  writeFileSync(plan, `${step} ${moment}\n`);
}
