import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  array,
  assert as assertProperty,
  asyncProperty,
  constantFrom,
  integer,
  nat,
  oneof,
  record,
} from 'fast-check';
import type { MemoryBackend } from '../../../../gateway/backends/memory.ts';
import type { Step } from '../../../../gateway/operations/operation.ts';
import { pause } from '../../../../src/lib/concurrency.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { crashPoints } from '../../../fakes/faulty-backend/rules.ts';
import {
  clusters,
  endClaims,
  openGateway,
  openMemory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway.ts';
import { createFaultyBackend, type FaultyBackend } from '../../../fakes/faulty-backend.ts';
import { assertCounted, hour, volumesIn } from '../../../harness/gateway/fixtures.ts';
import { isFull, seed } from '../../../harness/sample.ts';

const { a } = clusters;
const mebibyte = 2 ** 20;
/** The capacity of the pool, in MiB. */
const capacity = 10;

type Own = Gateway<FaultyBackend<MemoryBackend>>;
type Volume = { readonly id: string; size: number };

/** A request, and the step of an operation at which the gateway dies. The number chooses among the present volumes. */
type Request = {
  readonly kind: 'create' | 'expand' | 'delete' | 'restore';
  readonly size: number;
  readonly choice: number;
  readonly death?: Pick<Step, 'operation' | 'point'> | undefined;
};

const death = record({
  operation: constantFrom('create', 'expand', 'delete'),
  point: constantFrom(...crashPoints),
});
const request = record({
  kind: constantFrom<Request['kind']>('create', 'create', 'expand', 'delete', 'delete', 'restore'),
  size: integer({ min: 1, max: 4 }),
  choice: nat(),
  death: oneof({ weight: 3, arbitrary: constantFrom(undefined) }, { weight: 1, arbitrary: death }),
});

/** The volumes that must exist: those of the cluster, and the soft-deleted ones, the oldest first. */
function createModel() {
  const live: Volume[] = [];
  const kept: Volume[] = [];
  const sum = (all: readonly Volume[]): number => all.reduce((bytes, { size }) => bytes + size, 0);
  return {
    live,
    kept,
    /** Makes the oldest leave until the room is free. Returns false, and keeps all, if it cannot be free. */
    makeRoom(size: number): boolean {
      if (sum(live) + size > capacity) return false;
      while (sum(live) + sum(kept) + size > capacity) kept.shift();
      return true;
    },
  };
}

type Model = ReturnType<typeof createModel>;

/** Plans the request: its call, and the outcome that the model expects. Undefined if no volume is there for it. */
function plan({ kind, size, choice }: Request, { live, kept, makeRoom }: Model, number: number) {
  const among = kind === 'restore' ? kept : live;
  const index = choice % (among.length || 1);
  const volume = kind === 'create' ? { id: `a.v${number}`, size } : among[index];
  if (!volume) return undefined;
  const { id } = volume;
  const more = kind === 'expand' ? Math.max(0, size - volume.size) : size;
  const requiredBytes = size * mebibyte;
  const calls = {
    create: ({ volumes }: Own) => volumes.create(a, id, volumeSpec(id.slice(2), { requiredBytes })),
    expand: ({ changes }: Own) => changes.expand(a, id, { requiredBytes }),
    delete: ({ volumes }: Own) => volumes.delete(a, id),
    async restore({ ask }: Own) {
      const { status } = await ask(`PUT /v1/admin/deleted-volumes/${id}/restore`, { as: 'operator' });
      assert.equal(status, 204);
    },
  };
  const isPossible = kind === 'delete' || kind === 'restore' || makeRoom(more);
  if (isPossible && kind === 'create') live.push(volume);
  if (isPossible && kind === 'expand') volume.size += more;
  if (kind === 'delete') kept.push(...live.splice(index, 1));
  if (kind === 'restore') live.push(...kept.splice(index, 1));
  return { id, call: calls[kind], isPossible };
}

/** Returns a gateway that dies at a step, and cannot do anything afterwards. */
async function openMortal(first: Own, at: Pick<Step, 'operation' | 'point'>): Promise<Own> {
  let isDead = false;
  const die = (): never => {
    isDead = true;
    throw new Problem('UNAVAILABLE', 'the gateway died');
  };
  return first.replica({
    checkpoint: ({ operation, point }) => {
      if (isDead || (operation === at.operation && point === at.point)) die();
    },
    wrapEngine: engine => ({
      ...engine,
      transaction: async work => (isDead ? die() : engine.transaction(work)),
    }),
  });
}

test('room is made by the oldest soft-deleted volumes alone, however often gateways die meanwhile', async t => {
  let count = 0;
  const property = asyncProperty(array(request, { minLength: 15, maxLength: 30 }), async requests => {
    await using stack = new AsyncDisposableStack();
    const scope = { after: (end: () => void | Promise<void>) => stack.defer(end) };
    const backend = createFaultyBackend(await openMemory(capacity * mebibyte));
    const gateway = await openGateway(scope, { backend, keepDeletedMs: hour, patienceMs: 5_000 });
    const model = createModel();
    for (const [number, one] of requests.entries()) {
      const planned = plan(one, model, number);
      if (!planned) continue;
      count++;
      if (one.death) {
        await planned.call(await openMortal(gateway, one.death)).catch(() => undefined);
        await endClaims(gateway);
        await gateway.recovery.sweep();
      }
      const done = planned.call(gateway);
      if (planned.isPossible) await done;
      else await assert.rejects(done, { code: 'RESOURCE_EXHAUSTED' });
      if (one.kind === 'create' && planned.isPossible)
        backend.write(planned.id, 0, Uint8Array.of(number + 1));
      const expected = [...model.live, ...model.kept].map(({ id }) => id).toSorted();
      assert.deepEqual(await volumesIn(backend), expected, `after request ${number}`);
      const page = await gateway.volumes.list(a, { limit: 100 });
      assert.deepEqual(
        page.volumes.map(({ id }) => id),
        model.live.map(({ id }) => id).toSorted(),
      );
      // The order of the deletions is that of their times.
      await pause(2);
    }
    for (const { id } of [...model.live, ...model.kept])
      assert.deepEqual(backend.read(id, 0, 1), Uint8Array.of(Number(id.slice(3)) + 1), id);
    await assertCounted(gateway.engine);
  });
  await assertProperty(property, { seed, numRuns: isFull ? 60 : 12 });
  t.diagnostic(`${count} requests`);
});
