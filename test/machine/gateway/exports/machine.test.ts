import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { findMachineFaults } from '../../../../gateway/local/kernel/machine.ts';

/** Lists the obstacles that concern addresses, without obstacles that concern this machine's modules. */
async function lacksOf(
  listen: readonly string[],
  isServed: () => boolean = () => false,
): Promise<readonly string[]> {
  const all = await findMachineFaults({ modules: [], listen, isServed });
  return all.filter(line => /another program|interface/.test(line));
}

for (const [at, taken, free] of [
  ['127.0.0.1', ['127.0.0.1', '0.0.0.0'], '127.0.0.2'],
  ['::1', ['[::1]', '[::]'], '127.0.0.1'],
  ['0.0.0.0', ['127.0.0.1', '0.0.0.0'], undefined],
] as const)
  test(`a port that another program uses at ${at} is reported, only there, and not if a target uses it`, async () => {
    await using other = createServer();
    await once(other.listen(0, at), 'listening');
    const { port } = other.address() as AddressInfo;
    for (const host of taken)
      assert.deepEqual(await lacksOf([`${host}:${port}`]), [`another program listens at ${host}:${port}`]);
    assert.deepEqual(
      await lacksOf([`${taken[0]}:${port}`], () => true),
      [],
      'the kernel has it for its targets',
    );
    const elsewhere = free === undefined ? [] : await lacksOf([`${free}:${port}`]);
    assert.ok(!elsewhere.includes(`another program listens at ${free}:${port}`));
  });

test('an address without an interface is reported', async () => {
  assert.deepEqual(await lacksOf(['192.0.2.1:4420', '127.0.0.1:1']), [
    'no interface of this machine has the address 192.0.2.1',
  ]);
});
