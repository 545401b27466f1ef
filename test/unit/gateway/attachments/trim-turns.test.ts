import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { turnCount } from '../../../../src/api/attachments/trim-turns.ts';
import { attachmentTable } from '../../../../gateway/tables/attachments.ts';
import type { AttachmentSpec } from '../../../../src/api/node.ts';
import { createFaultyBackend } from '../../../fakes/faulty-backend.ts';
import { mounted, openGateway, openMemory } from '../../../harness/gateway.ts';
import type { ClusterCalls } from '../../../harness/gateway/cluster-calls.ts';
import { stopperOf } from '../../../harness/gateway/fixtures.ts';

/** Opens a gateway whose volumes are trimmed as their name says, such as `daily-1`. */
async function open(t: TestContext) {
  const gateway = await openGateway(t);
  return { ...gateway, ...callsTo(gateway) };
}

function callsTo(gateway: ClusterCalls) {
  const createAll = async (...names: readonly string[]): Promise<void> => {
    for (const name of names)
      await gateway.create(`a.${name}`, { parameters: { 'fs.trim': name.replace(/-.*/, '') } });
  };
  /** Attaches a volume, and returns its turn. */
  const turn = async (name: string, nodeId?: string, spec?: Partial<AttachmentSpec>) =>
    (await gateway.attach(`a.${name}`, nodeId, spec)).attachment.attachment?.trimTurn;
  return { createAll, turn };
}

const warning = (name: string): string =>
  `warn a volume is not trimmed, because all turns of pool "main" are taken; detach a trimmed volume of the pool, then attach this one again, or give it the mount option discard {"volumeId":"a.${name}"}`;

test('each trimmed volume of a pool gets the smallest free turn, and keeps it until it is detached', async t => {
  const { createAll, turn, detach } = await open(t);
  await createAll('daily-1', 'daily-2', 'daily-3', 'weekly-1', 'weekly-2');
  assert.deepEqual([await turn('daily-1'), await turn('daily-2', 'n2')], [0, 1]);
  assert.deepEqual([await turn('weekly-1'), await turn('weekly-2', 'n2')], [360, 361]);
  assert.deepEqual([await turn('daily-1'), await turn('weekly-2', 'n2')], [0, 361]);
  await detach('a.daily-1');
  assert.deepEqual([await turn('daily-3'), await turn('daily-1')], [0, 2]);
});

test('a volume that its node does not trim has no turn', async t => {
  const { createAll, turn, create, detach, logLines } = await open(t);
  await createAll('daily-1', 'off-1');
  await create('a.plain');
  const shared = { ...mounted, accessMode: 'MULTI_NODE_READER_ONLY' } as const;
  const raw = { ...mounted, accessType: 'block' } as const;
  assert.deepEqual([await turn('off-1'), await turn('plain')], [undefined, undefined]);
  for (const spec of [{ readonly: true }, { capability: shared }, { capability: raw }]) {
    assert.equal(await turn('daily-1', 'n1', spec), undefined, JSON.stringify(spec));
    await detach('a.daily-1');
  }
  assert.equal(await turn('daily-1'), 0);
  assert.deepEqual(logLines, []);
});

test('a volume that another CSI driver mounts keeps no turn', async t => {
  const memory = await openMemory();
  const reach = { protocol: 'csi', driver: 'other', handle: 'vol-1', driverNodeId: 'vm-7' } as const;
  const backend = {
    ...memory,
    attachmentBounds: { protocols: ['csi'], drivers: ['other'] } as const,
    attach: async () => reach,
  };
  const gateway = await openGateway(t, { backend: createFaultyBackend(backend) });
  const { createAll, turn } = callsTo(gateway);
  await createAll('daily-1');
  assert.equal(await turn('daily-1'), undefined);
  const [row] = await attachmentTable.select(gateway.engine.reader, {});
  assert.deepEqual([row?.state, row?.trimPool, row?.trimTurn], ['attached', undefined, undefined]);
});

test('each pool has turns of its own', async t => {
  const gateway = await openGateway(t, { pools: ['fast', 'slow'] });
  const { turn } = callsTo(gateway);
  for (const pool of ['fast', 'slow'])
    await gateway.create(`a.${pool}`, { parameters: { pool, 'fs.trim': 'daily' } });
  assert.deepEqual([await turn('fast'), await turn('slow')], [0, 0]);
});

test('attaches of two gateways at once get different turns', async t => {
  const gateway = await open(t);
  const other = callsTo(await gateway.replica()).turn;
  const names = Array.from({ length: 16 }, (_, index) => `daily-${index}`);
  await gateway.createAll(...names);
  const turns = await Promise.all(
    names.map((name, at) => (at % 2 ? other : gateway.turn)(name, `n${at % 5}`)),
  );
  assert.deepEqual(
    turns.toSorted((a, b) => Number(a) - Number(b)),
    names.map((_, index) => index),
  );
});

test('a volume takes a turn of the other period once its own are taken, and none once all are', async t => {
  const { createAll, turn, engine, logLines } = await open(t);
  await createAll('daily-1', 'daily-2', 'daily-3', 'weekly-1');
  await turn('daily-1');
  const fill = (first: number, end: number): Promise<unknown> =>
    engine.transaction(sql => {
      const columns = attachmentTable.columns.join(', ');
      const copied = columns.replace('node_id', `'x' || turn`).replace('trim_turn', 'turn');
      return sql.run(
        `with recursive turns (turn) as (
           select cast(? as bigint) union all select turn + 1 from turns where turn + 1 < ?
         ) insert into attachments (${columns}) select ${copied} from attachments, turns where trim_turn = 0`,
        first,
        end,
      );
    });
  await fill(1, 360);
  assert.equal(await turn('daily-2'), 360);
  await fill(361, turnCount);
  assert.deepEqual(logLines, []);
  assert.deepEqual([await turn('daily-3'), await turn('weekly-1')], [undefined, undefined]);
  assert.deepEqual(logLines, [warning('daily-3'), warning('weekly-1')]);
  await engine.transaction(sql => sql.run('delete from attachments where node_id = ?', 'x7'));
  await createAll('weekly-2');
  assert.equal(await turn('weekly-2'), 7);
});

test('an attachment that was being detached keeps its turn when the volume is attached again', async t => {
  const { createAll, turn, detach, backend } = await open(t);
  await createAll('daily-1', 'daily-2', 'daily-3');
  assert.deepEqual([await turn('daily-1'), await turn('daily-2')], [0, 1]);
  backend.failNext('detach', 'after', new Error('lost'));
  await assert.rejects(detach('a.daily-2'), { code: 'UNAVAILABLE' });
  assert.deepEqual([await turn('daily-3'), await turn('daily-2')], [2, 1]);
});

test('a late attach that is undone does not touch the volume that has its turn now', async t => {
  const memory = await openMemory();
  const stopping = await openGateway(t, { backend: createFaultyBackend(memory), leaseMs: 600_000 });
  const other = await stopping.replica({ backend: createFaultyBackend(memory) });
  const { createAll, turn } = callsTo(other);
  await createAll('daily-1', 'daily-2');
  const resume = await stopperOf(stopping)('attach', () => callsTo(stopping).turn('daily-1'));
  await other.detach('a.daily-1');
  assert.equal(await turn('daily-2'), 0);
  await resume();
  const rows = await attachmentTable.select(other.engine.reader, {});
  assert.deepEqual(
    rows.map(({ volumeId, trimTurn }) => [volumeId, trimTurn]),
    [['a.daily-2', 0]],
  );
});
