import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addToHistory, listHistory } from '../../../../gateway/tables/history.ts';
import { openGateway } from '../../../harness/gateway.ts';

test('replicas that add to a minute at the same time lose nothing', async t => {
  const first = await openGateway(t);
  const engines = [first, await first.replica(), await first.replica()].map(({ engine }) => engine);
  const space = { totalBytes: 9, reservedBytes: 7, deletedBytes: 0 };
  const share = new Map([['main', { ...space, calls: 2, failedCalls: 1, waiting: 0, waitMs: 3 }]]);
  const add = () => engines.map(engine => engine.transaction(sql => addToHistory(sql, share)));
  await Promise.all(Array.from({ length: 10 }, add).flat());
  const minutes = await listHistory(first.engine.reader, { from: 0, before: Number.MAX_SAFE_INTEGER }, 10);
  const pools = minutes.map(one => one.pools.get('main'));
  const sum = (of: 'calls' | 'failedCalls') => pools.reduce((all, one) => all + (one?.[of] ?? 0), 0);
  assert.deepEqual([sum('calls'), sum('failedCalls')], [60, 30]);
  assert.ok(pools.length <= 2, 'a minute may end during the test');
});
