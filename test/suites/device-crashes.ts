import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { BackendPlugin } from '../../gateway/backend.ts';
import { backends } from '../../gateway/backends/index.ts';
import { exec, type ExecResult } from '../../src/lib/exec.ts';
import { silentLog } from '../../src/lib/log.ts';
import { seed } from '../harness/sample.ts';
import {
  assertHolds,
  idsOf,
  makeVolume,
  newGroup,
  newSnapshot,
  newVolume,
  takeSnapshot,
  type Content,
  type OfferedBackend,
} from './backend-fixtures.ts';

const MiB = 2 ** 20;

/** The moments of a command's death: it never starts, dies while it works, or ends after its gateway. */
const moments = ['before', 'midway', 'after'] as const;

type Death = { readonly step: number; readonly moment: (typeof moments)[number]; readonly afterMs: number };
const none: Death = { step: -1, moment: 'before', afterMs: 0 };

type Change = (args: readonly string[]) => Promise<ExecResult>;

/** Makes the changes of a pool end with their gateway at one step. A dead gateway changes nothing more. */
export function mortalChanges(program: string, real: Change, { step, moment, afterMs }: Death) {
  let count = 0;
  let isDead = false;
  const change: Change = async args => {
    if (isDead) throw new Error('ended');
    if (count++ !== step) return real(args);
    isDead = true;
    const seconds = String(afterMs / 1_000);
    if (moment === 'midway')
      await exec('timeout', ['--signal=KILL', seconds, program, ...args], { timeoutMs: 60_000 });
    if (moment === 'after') await real(args);
    throw new Error('ended');
  };
  return { change, hasDied: () => isDead };
}

type Tested = OfferedBackend['backend'];
type Work = (backend: Tested, content: Content) => Promise<unknown>;

/** A pool whose gateways end between and within commands. */
export type MortalPool = {
  /** Opens the parts of a backend; the gateway dies at this step. `recover` does what the next gateway does at its start. */
  open(death: Death): { readonly backend: Tested; recover(): Promise<void>; hasDied(): boolean };
  readonly content: Content;
  /** Fails unless the pool is empty and no device is stuck. */
  assertEmpty(when: string): void;
};

const source = { id: 'a.source', nonce: 'own', sizeBytes: MiB, parameters: {} };
const other = { ...source, id: 'a.other' };
const cloning = { kind: 'volume', volume: source, attachedForWriting: true } as const;

/** Work on the volumes "a.source" with the data "old" and "a.other"; each may be repeated. */
const mutations: Readonly<Record<string, Work>> = {
  create: backend => makeVolume(backend, { id: 'a.made' }),
  async 'larger clone'(backend, content) {
    const clone = newVolume({ id: 'a.clone', requiredBytes: 3 * MiB, source: cloning });
    assert.equal((await backend.create(clone)).sizeBytes, 3 * MiB);
    assertHolds(content, 'a.clone', 0, 'old');
  },
  snapshot: backend => takeSnapshot(backend, newSnapshot('a.snapshot', source, true)),
  expand: backend => backend.expand(source, { requiredBytes: 4 * MiB, limitBytes: 0 }),
  async delete(backend) {
    await backend.delete(other);
    assert.ok(!(await idsOf(backend)).includes(other.id));
  },
};

/** Work on a snapshot "a.first" of "a.source", its clone "a.restored", and a copy "a.clone" of "a.source". */
const withCopies: Readonly<Record<string, Work>> = {
  async 'delete of a volume with copies'(backend, content) {
    await backend.delete(source);
    for (const id of ['a.restored', 'a.clone']) assertHolds(content, id, 0, 'old');
  },
  async 'delete of a snapshot with copies'(backend, content) {
    await backend.snapshots.delete({ id: 'a.first', nonce: 'own' });
    assertHolds(content, 'a.restored', 0, 'old');
  },
};

async function makeCopies(backend: Tested): Promise<void> {
  const snapshot = await takeSnapshot(backend, newSnapshot('a.first', source));
  await makeVolume(backend, { id: 'a.restored', source: { kind: 'snapshot', snapshot } });
  await makeVolume(backend, { id: 'a.clone', source: cloning });
  await takeSnapshot(backend, newSnapshot('a.second', source));
}

async function takeGroup(backend: Tested): Promise<void> {
  const members = newGroup([source, other]);
  assert.equal((await backend.snapshots.createGroup(members)).length, members.length);
}

/**
 * Ends gateways at each step of each change, and compares what is left with what the next gateway makes of it. The run's
 * seed chooses the moment within the step, so that over many runs each is hit.
 */
export function testCrashes(pool: MortalPool): void {
  for (const [name, work] of Object.entries({ ...mutations, ...withCopies, group: takeGroup }))
    test(`${name}, ended at any step, is finished by the next attempt, and leaves nothing`, async t => {
      let step = 0;
      while (await endOnce(pool, work, { death: deathAt(step), hasCopies: name in withCopies })) step++;
      t.diagnostic(`${name}: ended at ${step} steps`);
    });
}

function deathAt(step: number): Death {
  const choice = seed + step;
  return { step, moment: moments[choice % moments.length] ?? 'midway', afterMs: 20 + (choice % 10) * 60 };
}

type Case = { readonly death: Death; readonly hasCopies: boolean };

/** Ends a gateway once, and finishes its work with the next one; false when the work had no such step. */
async function endOnce(pool: MortalPool, work: Work, { death, hasCopies }: Case): Promise<boolean> {
  const { content } = pool;
  const calm = pool.open(none);
  const { backend } = calm;
  await makeVolume(backend, { id: source.id });
  await makeVolume(backend, { id: other.id });
  content.write(source.id, 0, Buffer.from('old'));
  if (hasCopies) await makeCopies(backend);
  const mortal = pool.open(death);
  const ended = await work(mortal.backend, content).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!mortal.hasDied()) assert.equal(ended, undefined);
  await calm.recover();
  await work(backend, content);
  await work(backend, content);
  if ((await idsOf(backend)).includes(source.id)) assertHolds(content, source.id, 0, 'old');
  for (const id of await idsOf(backend.snapshots)) await backend.snapshots.delete({ id });
  for (const id of await idsOf(backend)) await backend.delete({ id });
  pool.assertEmpty(JSON.stringify(death));
  return mortal.hasDied();
}

/** A pool by the settings of its backend, which gateways in other processes open. */
type KilledPool = {
  readonly backend: keyof typeof backends;
  readonly settings: object;
  /** Fails unless the pool has nothing except its key. */
  assertEmpty(): void;
};

const program = fileURLToPath(new URL('mortal-gateway.ts', import.meta.url));

/** Kills a gateway that creates volumes, snapshots and copies, again and again. */
export function testKills(poolOf: () => KilledPool, rounds = 5): void {
  test('a gateway that is killed again and again finds all that it finished, and leaves nothing', async () => {
    const pool = poolOf();
    const plugin = backends[pool.backend] as BackendPlugin;
    const settings = plugin.settings.parse(pool.settings);
    for (let round = 0; round < rounds; round++) {
      const finished = await killOnce(pool, round);
      const backend = (await plugin.open(settings, { name: 'pool', log: silentLog })) as Tested;
      const found = new Set([...(await idsOf(backend)), ...(await idsOf(backend.snapshots))]);
      for (const id of finished) assert.ok(found.has(id), `${id} of ${finished.join()} is missing`);
      for (const id of await idsOf(backend.snapshots)) await backend.snapshots.delete({ id, nonce: 'own' });
      for (const id of await idsOf(backend)) await backend.delete({ id, nonce: 'own' });
      await backend.close();
      pool.assertEmpty();
    }
  });
}

/** Kills a gateway at work, and returns the ids that it had finished. */
async function killOnce({ backend, settings }: KilledPool, round: number): Promise<readonly string[]> {
  const args = [program, backend, JSON.stringify(settings), String(round)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const finished: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    finished.push(line);
    if (finished.length !== 3 + ((seed + round) % 4)) continue;
    await sleep(((seed >> round) % 8) * 100);
    child.kill('SIGKILL');
  }
  return finished;
}
