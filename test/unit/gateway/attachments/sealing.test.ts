import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  compactDecrypt,
  createLocalJWKSet,
  decodeProtectedHeader,
  exportJWK,
  flattenedVerify,
  generateKeyPair,
} from 'jose';
import { seal } from '../../../../gateway/attachments/sealing.ts';
import { createIdentity } from '../../../../gateway/pools/identity.ts';
import { attachmentTable } from '../../../../gateway/tables/attachments.ts';
import { signedText, toPublishContext, type Reach } from '../../../../src/api/attachment.ts';
import { createKey } from '../../../../src/api/http/jwt.ts';
import { toNodeId } from '../../../../src/api/ids.ts';
import type { AttachmentResource } from '../../../../src/api/node.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { clusters, openGateway, mounted, temporaryDirectory } from '../../../harness/gateway.ts';

const cluster = clusters.a;
const volumeId = 'a.pvc-1';
const spec = { capability: mounted, readonly: false };
const secrets = { 'dhchap-secret': 'canary-1', 'dhchap-ctrl-secret': 'canary-2' };

/** Makes a node with a key of its own. */
async function makeNode(name: string) {
  const { publicKey, privateKey } = await generateKeyPair('ECDH-ES', { crv: 'X25519', extractable: true });
  const { x } = await exportJWK(publicKey);
  const openText = async (sealed = ''): Promise<string> => {
    const { plaintext } = await compactDecrypt(sealed, privateKey);
    return Buffer.from(plaintext).toString();
  };
  return {
    nodeId: toNodeId({ name, key: x ?? '' }),
    openText,
    open: async (sealed?: string): Promise<unknown> => JSON.parse(await openText(sealed)),
  };
}

const reachOf = (name: string) => ({ protocol: 'loop', path: `/srv/${name}` }) as const;

/** Lists the members that differ between two headers. */
function differing(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>) {
  return Object.keys({ ...one, ...other }).filter(member => one[member] !== other[member]);
}

/** Opens a storage that returns secrets with each volume, and its gateway, with a volume and these nodes. */
async function open(t: TestContext, nodeIds: readonly string[], given: Partial<Reach> = { secrets }) {
  const keyFile = join(temporaryDirectory(t), 'keys.json');
  const identity = createIdentity('hq', keyFile);
  const gateway = await openGateway(t, {
    own: ({ attach }) => ({
      attach: async (volume, access) => ({ ...(await attach(volume, access)), ...given }) as Reach,
    }),
    volumes: ['pvc-1'],
    nodes: nodeIds,
    signDetached: identity.signDetached,
  });
  const { attachments } = gateway;
  return {
    ...gateway,
    identity,
    keyFile,
    attach: async (nodeId: string) =>
      (await attachments.attach({ cluster, volumeId, nodeId }, spec)).attachment,
    detach: (nodeId?: string) => attachments.detach({ cluster, volumeId, nodeId }),
    get: (nodeId: string) => attachments.get({ cluster, volumeId, nodeId }),
    attached: async () => (await gateway.volumes.get(cluster, volumeId)).attachments,
  };
}

/** Verifies an attachment's signature and returns its header. */
async function verify({ attachment }: AttachmentResource, keySet: Parameters<typeof createLocalJWKSet>[0]) {
  assert.ok(attachment?.signature);
  const [head = '', nothing, signature = ''] = attachment.signature.split('.');
  assert.equal(nothing, '');
  const payload = Buffer.from(signedText(toPublishContext(attachment))).toString('base64url');
  const jws = { protected: head, payload, signature };
  const { protectedHeader } = await flattenedVerify(jws, createLocalJWKSet(keySet));
  return protectedHeader;
}

test('secrets of an attachment leave the gateway sealed to the node, identical at each call', async t => {
  const node = await makeNode('n1');
  const { attach, get, ask, engine, logLines } = await open(t, [node.nodeId]);
  const first = await attach(node.nodeId);
  assert.deepEqual(await node.open(first.attachment?.sealed), secrets);
  assert.deepEqual(await attach(node.nodeId), first);
  assert.deepEqual(await get(node.nodeId), first);
  const stored = await attachmentTable.select(engine.reader, {});
  const pages = ['attachments', 'volumes', 'check', 'operations'].map(list => `GET /v1/admin/${list}`);
  const lists = await Promise.all(pages.map(page => ask(page, { as: 'operator' })));
  for (const { status } of lists) assert.equal(status, 200);
  const everything = [first, stored, logLines, ...lists.map(({ body }) => body)];
  for (const shown of everything) assert.doesNotMatch(JSON.stringify(shown), /canary|secrets/);
});

test('an attachment is signed for its volume and its node, with everything that a publish context contains', async t => {
  const node = await makeNode('n1');
  const { attach, identity } = await open(t, [node.nodeId]);
  const resource = await attach(node.nodeId);
  const header = await verify(resource, await identity.keySet());
  assert.partialDeepStrictEqual(header, { alg: 'EdDSA' });
  assert.equal(typeof header?.['volume'], 'string');
  const changed = { ...resource.attachment, attachmentId: 'another' } as typeof resource.attachment;
  await assert.rejects(verify({ ...resource, attachment: changed }, await identity.keySet()));
});

test('a new first key in the key file signs existing attachments, and seals stay', async t => {
  const node = await makeNode('n1');
  const { attach, get, keyFile, identity } = await open(t, [node.nodeId]);
  const before = await attach(node.nodeId);
  const { keys } = JSON.parse(readFileSync(keyFile, 'utf8')) as { readonly keys: readonly object[] };
  writeFileSync(keyFile, JSON.stringify({ keys: [await createKey('next'), ...keys] }));
  // The content of the file is cached for a moment.
  const next = await poll(
    async () => {
      const now = await get(node.nodeId);
      return now.attachment?.signature === before.attachment?.signature ? undefined : now;
    },
    { everyMs: 50, timeoutMs: 60_000 },
  );
  assert.ok(next);
  assert.equal((await verify(next, await identity.keySet()))?.['kid'], 'next');
  const { signature: _, ...unsigned } = before.attachment ?? {};
  assert.partialDeepStrictEqual(next.attachment, unsigned);
  await verify(before, await identity.keySet());
});

test('a seal of another gateway is sealed once more, for the names that the node knows', async t => {
  const node = await makeNode('n1');
  const far = { volumeId: 'far.pvc-1', nodeId: node.nodeId.replace('n1', 'a.n1') };
  const attached = { ...far, attachmentId: 'at1', readonly: false };
  const { sealed = '' } = await seal({ ...reachOf(far.volumeId), secrets }, attached);
  const { attach } = await open(t, [node.nodeId], { sealed });
  const { attachment } = await attach(node.nodeId);
  assert.equal(await node.openText(attachment?.sealed), sealed);
  assert.partialDeepStrictEqual(decodeProtectedHeader(attachment?.sealed ?? ''), { cty: 'JWE' });
});

test('the header of a seal has its volume, node, attachment, reach and use', async () => {
  const node = await makeNode('n1');
  const attached = { volumeId, nodeId: node.nodeId, attachmentId: 'at1', readonly: false };
  const reach = reachOf('one');
  const headerOf = async (changed: object, way = reach) => {
    const { sealed = '' } = await seal({ ...way, secrets }, { ...attached, ...changed });
    const { epk: _, ...header } = decodeProtectedHeader(sealed) as Record<string, unknown>;
    return header;
  };
  const header = await headerOf({});
  const members = { volume: 'volumeId', attachment: 'attachmentId' };
  for (const [member, changed] of Object.entries(members))
    assert.deepEqual(differing(header, await headerOf({ [changed]: 'other' })), [member]);
  const otherNode = { nodeId: node.nodeId.replace('n1', 'n2') };
  assert.deepEqual(differing(header, await headerOf(otherNode)), ['node']);
  assert.deepEqual(differing(header, await headerOf({ readonly: true })), ['use']);
  assert.deepEqual(differing(header, await headerOf({ encryption: 'luks' })), ['use']);
  assert.deepEqual(differing(header, await headerOf({}, reachOf('two'))), ['reach']);
  assert.deepEqual(await headerOf({}), header);
});

test('a text that is no seal of another gateway passes unchanged', async t => {
  const node = await makeNode('n1');
  const { attach } = await open(t, [node.nodeId], { sealed: 'sealed.far.away' });
  assert.equal((await attach(node.nodeId)).attachment?.sealed, 'sealed.far.away');
});

test('a node without a key gets no attachment with secrets, and nothing of it remains', async t => {
  const { attach, attached, backend } = await open(t, ['n1']);
  await assert.rejects(attach('n1'), {
    code: 'FAILED_PRECONDITION',
    detail: /^node "n1" has no key in its id/,
  });
  assert.deepEqual(backend.calls, ['attach a.pvc-1', 'detach a.pvc-1']);
  assert.deepEqual(await attached(), []);
});

test('a node with an invalid key gets no attachment with secrets', async t => {
  const nodeId = toNodeId({ name: 'n1', key: 'A'.repeat(43) });
  const { attach, attached } = await open(t, [nodeId]);
  await assert.rejects(attach(nodeId), {
    code: 'FAILED_PRECONDITION',
    detail: /^the id of node "n1~A+" has no valid key; drain the node once/,
  });
  assert.deepEqual(await attached(), []);
});

test('a node without a key is attached if nothing is secret, as for nodes of earlier releases', async t => {
  const { attach } = await open(t, ['n1'], {});
  const { attachment } = await attach('n1');
  assert.deepEqual([attachment?.sealed, attachment?.signature], [undefined, undefined]);
});

const refusedFor = (holder: string) => ({
  code: 'FAILED_PRECONDITION',
  detail: new RegExp(
    `volume "a.pvc-1" is attached to node "${holder}", another machine .* detach-node a ${holder}$`,
  ),
});

test('a second key of a name gets nothing while the first one has a volume, and takes nothing from it', async t => {
  const [first, second] = [await makeNode('n1'), await makeNode('n1')];
  const { create, attach, attached, backend, detach, nodes, attachments } = await open(t, [first.nodeId]);
  await attach(first.nodeId);
  const before = await attached();
  await assert.rejects(nodes.put(cluster, second.nodeId, {}), refusedFor(first.nodeId));
  const trusted = { ...cluster, acceptAnyNode: true };
  await create('a.pvc-2');
  for (const id of [volumeId, 'a.pvc-2'])
    for (const nodeId of [second.nodeId, 'n1'])
      await assert.rejects(
        attachments.attach({ cluster: trusted, volumeId: id, nodeId }, spec),
        refusedFor(first.nodeId),
      );
  // Cleans up after the refused attach.
  await detach(second.nodeId);
  assert.deepEqual(await attached(), before);
  assert.ok(!backend.calls.includes('detach a.pvc-1'));
  // The name is another one, or another cluster's.
  await nodes.put(clusters.b, second.nodeId, {});
  for (const name of ['n10', 'n', 'n1~x']) await nodes.put(cluster, (await makeNode(name)).nodeId, {});
});

test('a second key of a name is accepted once the first one is drained', async t => {
  const [first, second] = [await makeNode('n1'), await makeNode('n1')];
  const { attach, attached, detach, nodes, backend } = await open(t, [first.nodeId]);
  const before = await attach(first.nodeId);
  backend.failNext('detach', 'before', new Problem('UNAVAILABLE', 'the target stays'));
  await assert.rejects(detach(first.nodeId), { code: 'UNAVAILABLE', detail: /the target stays/ });
  await assert.rejects(nodes.put(cluster, second.nodeId, {}), refusedFor(first.nodeId));
  await detach(first.nodeId);
  await nodes.put(cluster, second.nodeId, {});
  const { attachment } = await attach(second.nodeId);
  assert.notEqual(attachment?.attachmentId, before.attachment?.attachmentId);
  assert.deepEqual(await second.open(attachment?.sealed), secrets);
  assert.deepEqual(await attached(), [{ nodeId: second.nodeId, state: 'attached', readonly: false }]);
  await assert.rejects(attach(first.nodeId), refusedFor(second.nodeId));
});

test('an operator detaches all volumes from a lost machine, and a second key of its name is accepted', async t => {
  const [first, second] = [await makeNode('n1'), await makeNode('n1')];
  const { create, attach, attached, nodes, ask, backend, volumes, attachments } = await open(t, [
    first.nodeId,
    'n2',
  ]);
  await create('a.pvc-2');
  await attach(first.nodeId);
  await attachments.attach({ cluster, volumeId: 'a.pvc-2', nodeId: first.nodeId }, spec);
  backend.failNext('detach', 'before', new Problem('UNAVAILABLE', 'the target stays'));
  const route = `PUT /v1/admin/nodes/a/${first.nodeId}/detachment`;
  const forced = { as: 'operator', body: { force: true } };
  const { status, body } = await ask(route, forced);
  const detail = `could not detach 1 volume from node "${first.nodeId}": volume "${volumeId}": the target stays`;
  assert.deepEqual([status, body['detail']], [503, detail]);
  assert.equal((await attached()).length, 1);
  assert.deepEqual((await volumes.get(cluster, 'a.pvc-2')).attachments, []);
  for (const as of ['a', 'reader of operators'] as const)
    assert.equal((await ask(route, { ...forced, as })).status, 404);
  for (let call = 0; call < 2; call++) assert.equal((await ask(route, forced)).status, 200);
  assert.deepEqual(await attached(), []);
  await nodes.put(cluster, second.nodeId, {});
  assert.deepEqual(await second.open((await attach(second.nodeId)).attachment?.sealed), secrets);
});

test('one of two keys of one name that attach at the same time gets volumes', async t => {
  const trusted = { ...cluster, acceptAnyNode: true };
  for (let round = 0; round < 10; round++) {
    const keys = [await makeNode('n1'), await makeNode('n1')];
    const { create, attachments } = await open(t, []);
    await create('a.pvc-2');
    const outcomes = await Promise.allSettled(
      keys.map(({ nodeId }, index) =>
        attachments.attach({ cluster: trusted, volumeId: `a.pvc-${index + 1}`, nodeId }, spec),
      ),
    );
    assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  }
});

test('a gateway without a key file that cannot make one signs nothing', async t => {
  const identity = createIdentity('hq', join(temporaryDirectory(t), 'missing', 'keys.json'));
  const gateway = await openGateway(t, { signDetached: identity.signDetached });
  const { nodeId } = await makeNode('n1');
  await gateway.create(volumeId);
  await gateway.nodes.put(cluster, nodeId, {});
  const { attachment } = await gateway.attachments.attach({ cluster, volumeId, nodeId }, spec);
  assert.equal(attachment.attachment?.signature, undefined);
});
