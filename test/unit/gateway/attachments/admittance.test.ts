import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Attachments } from '../../../../gateway/attachments/attachments.ts';
import type { Volume } from '../../../../src/api/volume.ts';
import { createFaultyBackend, type FaultyBackend } from '../faulty-backend.ts';
import {
  clusters,
  makeGateway,
  mounted,
  openMemory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';

const [here, away] = [{ zone: 'a' }, { zone: 'b' }];

test('after a detach that did not end, a node that is full by now does not get the volume back', async t => {
  const { attach, detach, list, nodes, backend } = await prepare(t);
  await attach('a.one');
  await attach('a.two');
  backend.failNext('detach', 'before', new Error('unreachable'));
  await assert.rejects(detach('a.one'), isProblem('UNAVAILABLE'));
  await nodes.put(clusters.a, 'n1', { topology: here, maxVolumes: 1 });
  await assert.rejects(
    attach('a.one'),
    isProblemThat('RESOURCE_EXHAUSTED', /node "n1" has 1 volumes attached, and takes no more than 1/),
  );
  assert.deepEqual(await list('a.one'), [{ nodeId: 'n1', state: 'detaching', readonly: false }]);
  await detach('a.two');
  assert.equal((await attach('a.one')).attachment.state, 'attached');
});

test('after a detach that did not end, the volume does not count against its own node', async t => {
  const { attach, detach, nodes, backend } = await prepare(t);
  await nodes.put(clusters.a, 'n1', { topology: here, maxVolumes: 1 });
  await attach('a.one');
  backend.failNext('detach', 'before', new Error('unreachable'));
  await assert.rejects(detach('a.one'), isProblem('UNAVAILABLE'));
  assert.equal((await attach('a.one')).attachment.state, 'attached');
});

test('after a detach that did not end, a node that is elsewhere by now does not get the volume back', async t => {
  const { attach, detach, list, nodes, backend } = await prepare(t);
  await attach('a.one');
  backend.failNext('detach', 'before', new Error('unreachable'));
  await assert.rejects(detach('a.one'), isProblem('UNAVAILABLE'));
  await nodes.put(clusters.a, 'n1', { topology: away });
  await assert.rejects(
    attach('a.one'),
    isProblemThat('FAILED_PRECONDITION', /"a.one" is in "zone=a", and node "n1" is in "zone=b"$/),
  );
  await detach('a.one');
  assert.deepEqual(await list('a.one'), []);
});

test('an attach that did not end goes on, whatever becomes of the node', async t => {
  const { attach, nodes, backend } = await prepare(t);
  await attach('a.two');
  backend.failNext('attach', 'after', new Error('the answer was lost'));
  await assert.rejects(attach('a.one'), isProblem('UNAVAILABLE'));
  await nodes.put(clusters.a, 'n1', { topology: away, maxVolumes: 1 });
  assert.equal((await attach('a.one')).attachment.state, 'attached');
});

type Prepared = Pick<Gateway, 'nodes'> & {
  readonly backend: FaultyBackend;
  attach(volumeId: string): ReturnType<Attachments['attach']>;
  detach(volumeId: string): Promise<void>;
  /** Where the volume is attached. */
  list(volumeId: string): Promise<Volume['attachments']>;
};

/** A gateway with the volumes a.one and a.two, and the node n1, all in one zone. */
async function prepare(t: TestContext): Promise<Prepared> {
  const backend = createFaultyBackend(await openMemory([{ totalBytes: 2 ** 30, segments: here }]));
  const { volumes, nodes, attachments } = await makeGateway(t, { backend });
  for (const name of ['one', 'two']) await volumes.create(clusters.a, `a.${name}`, volumeSpec(name));
  await nodes.put(clusters.a, 'n1', { topology: here });
  const cluster = clusters.a;
  return {
    nodes,
    backend,
    attach: volumeId =>
      attachments.attach({ cluster, volumeId, nodeId: 'n1' }, { capability: mounted, readonly: false }),
    detach: volumeId => attachments.detach({ cluster, volumeId, nodeId: 'n1' }),
    list: async volumeId => (await volumes.get(clusters.a, volumeId)).attachments,
  };
}
