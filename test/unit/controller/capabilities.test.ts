import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Capabilities } from '../../../src/api/storage.ts';
import { createCapabilitySource } from '../../../src/controller/capabilities.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { silentLog } from '../../../src/lib/log.ts';

const few: Capabilities = { version: '1', accessModes: [], accessTypes: [], features: [], pools: [] };

test('the controller learns once that a pool that was not ready at its start offers more', async t => {
  const answers: (Capabilities | Error)[] = [few, new Error('unreachable'), few];
  const more = { ...few, features: ['expand' as const] };
  const learned: Capabilities[] = [];
  let asked = 0;
  const getCapabilities = async (): Promise<Capabilities> => {
    asked += 1;
    const answer = answers.shift() ?? more;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const source = createCapabilitySource({ getCapabilities }, silentLog, {
    onChange: found => learned.push(found),
    refreshMs: 1,
  });
  t.after(() => source.close());
  await poll(async () => (asked > 6 ? true : undefined), { everyMs: 5, timeoutMs: 10_000 });
  assert.deepEqual(source.get(), more);
  assert.deepEqual(learned, [few, more]);
});
