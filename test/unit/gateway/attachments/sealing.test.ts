import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { compactDecrypt, createLocalJWKSet, exportJWK, flattenedVerify, generateKeyPair } from 'jose';
import type { Backend } from '../../../../gateway/backend.ts';
import { createIdentity } from '../../../../gateway/pools/identity.ts';
import { attachmentTable } from '../../../../gateway/tables/attachments.ts';
import { signedText, toPublishContext, type Reach } from '../../../../src/api/attachment.ts';
import { makeKey } from '../../../../src/api/http/jwt.ts';
import { toNodeId } from '../../../../src/api/ids.ts';
import type { AttachmentResource } from '../../../../src/api/node.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import {
  clusters,
  makeGateway,
  mounted,
  openMemory,
  temporaryDirectory,
  volumeSpec,
} from '../../../harness/gateway-harness.ts';
import { isProblemThat } from '../../../harness/gateway-problems.ts';
import { createFaultyBackend } from '../faulty-backend.ts';

const cluster = clusters.a;
const volumeId = 'a.pvc-1';
const spec = { capability: mounted, readonly: false };
const secrets = { 'dhchap-secret': 'canary-1', 'dhchap-ctrl-secret': 'canary-2' };

/** A node with a key of its own. */
async function makeNode(name: string) {
  const { publicKey, privateKey } = await generateKeyPair('ECDH-ES', { crv: 'X25519', extractable: true });
  const { x } = await exportJWK(publicKey);
  return {
    nodeId: toNodeId({ name, key: x ?? '' }),
    async open(sealed = ''): Promise<unknown> {
      const { plaintext } = await compactDecrypt(sealed, privateKey);
      return JSON.parse(Buffer.from(plaintext).toString());
    },
  };
}

/** A storage that gives secrets with each volume, and the gateway before it, with a volume and these nodes. */
async function open(t: TestContext, nodeIds: readonly string[], given: Partial<Reach> = { secrets }) {
  const inner = await openMemory();
  const giving: Backend = {
    ...inner,
    attach: async (volume, access) => ({ ...(await inner.attach(volume, access)), ...given }) as Reach,
  };
  const keyFile = join(temporaryDirectory(t), 'keys.json');
  const identity = createIdentity('hq', keyFile);
  const backend = createFaultyBackend(giving);
  const gateway = await makeGateway(t, { backend, signDetached: identity.signDetached });
  await gateway.volumes.create(cluster, volumeId, volumeSpec('pvc-1'));
  for (const nodeId of nodeIds) await gateway.nodes.put(cluster, nodeId, {});
  backend.calls.length = 0;
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

/** The header of an attachment's signature, once that is proved to be good. */
async function verify({ attachment }: AttachmentResource, keySet: Parameters<typeof createLocalJWKSet>[0]) {
  assert.ok(attachment?.signature);
  const [head = '', nothing, signature = ''] = attachment.signature.split('.');
  assert.equal(nothing, '');
  const payload = Buffer.from(signedText(toPublishContext(attachment))).toString('base64url');
  const jws = { protected: head, payload, signature };
  const { protectedHeader } = await flattenedVerify(jws, createLocalJWKSet(keySet));
  return protectedHeader;
}

test('what is secret of an attachment leaves the gateway sealed to the node, and the same at each call', async t => {
  const node = await makeNode('n1');
  const { attach, get, ask, engine, logLines } = await open(t, [node.nodeId]);
  const first = await attach(node.nodeId);
  assert.deepEqual(await node.open(first.attachment?.sealed), secrets);
  assert.deepEqual(await attach(node.nodeId), first);
  assert.deepEqual(await get(node.nodeId), first);
  const stored = await attachmentTable.select(engine.reader, {});
  const pages = ['attachments', 'volumes', 'audit', 'operations'].map(list => `GET /v1/admin/${list}`);
  const lists = await Promise.all(pages.map(page => ask(page, { as: 'operator' })));
  for (const { status } of lists) assert.equal(status, 200);
  const everything = [first, stored, logLines, ...lists.map(({ body }) => body)];
  for (const shown of everything) assert.doesNotMatch(JSON.stringify(shown), /canary|secrets/);
});

test('an attachment is signed for its volume and its node, over all that a publish context has of it', async t => {
  const node = await makeNode('n1');
  const { attach, identity } = await open(t, [node.nodeId]);
  const resource = await attach(node.nodeId);
  const header = await verify(resource, await identity.keySet());
  assert.partialDeepStrictEqual(header, { alg: 'EdDSA' });
  assert.equal(typeof header?.['volume'], 'string');
  const changed = { ...resource.attachment, attachmentId: 'another' } as typeof resource.attachment;
  await assert.rejects(verify({ ...resource, attachment: changed }, await identity.keySet()));
});

test('a new key at the head of the key file signs what was attached before, and what is sealed stays', async t => {
  const node = await makeNode('n1');
  const { attach, get, keyFile, identity } = await open(t, [node.nodeId]);
  const before = await attach(node.nodeId);
  const { keys } = JSON.parse(readFileSync(keyFile, 'utf8')) as { readonly keys: readonly object[] };
  writeFileSync(keyFile, JSON.stringify({ keys: [await makeKey('next'), ...keys] }));
  // What was read of the file is used for a moment.
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

test('what another gateway sealed to the node passes as it is', async t => {
  const node = await makeNode('n1');
  const { attach } = await open(t, [node.nodeId], { sealed: 'sealed.far.away' });
  assert.equal((await attach(node.nodeId)).attachment?.sealed, 'sealed.far.away');
});

test('a node without a key gets no attachment with secrets, and nothing stays of it', async t => {
  const { attach, attached, backend } = await open(t, ['n1']);
  await assert.rejects(attach('n1'), isProblemThat('FAILED_PRECONDITION', /^node "n1" has no key in its id/));
  assert.deepEqual(backend.calls, ['attach a.pvc-1', 'detach a.pvc-1']);
  assert.deepEqual(await attached(), []);
});

test('a node whose key is none gets no attachment with secrets', async t => {
  const nodeId = toNodeId({ name: 'n1', key: 'A'.repeat(43) });
  const { attach, attached } = await open(t, [nodeId]);
  await assert.rejects(
    attach(nodeId),
    isProblemThat('FAILED_PRECONDITION', /^the key in the id of node "n1~A+" is none$/),
  );
  assert.deepEqual(await attached(), []);
});

test('a node without a key is attached where nothing is secret, as nodes of earlier releases know it', async t => {
  const { attach } = await open(t, ['n1'], {});
  const { attachment } = await attach('n1');
  assert.deepEqual([attachment?.sealed, attachment?.signature], [undefined, undefined]);
});

test('a machine that has the name of another gets the volume only once that one is without it', async t => {
  const [former, next] = [await makeNode('n1'), await makeNode('n1')];
  const { attach, attached, backend } = await open(t, [former.nodeId, next.nodeId]);
  const before = await attach(former.nodeId);
  backend.failNext('detach', 'before', new Problem('UNAVAILABLE', 'the target stays'));
  const named = `volume "a.pvc-1" cannot be detached yet from node "${former.nodeId}", which was "n1" before: the target stays`;
  await assert.rejects(
    attach(next.nodeId),
    isProblemThat('UNAVAILABLE', new RegExp(`^${RegExp.escape(named)}$`)),
  );
  assert.partialDeepStrictEqual(await attached(), [{ nodeId: former.nodeId }]);
  const { attachment } = await attach(next.nodeId);
  assert.notEqual(attachment?.attachmentId, before.attachment?.attachmentId);
  assert.deepEqual(await next.open(attachment?.sealed), secrets);
  assert.deepEqual(await attached(), [{ nodeId: next.nodeId, state: 'attached', readonly: false }]);
  assert.deepEqual(backend.calls.slice(-2), ['detach a.pvc-1', 'attach a.pvc-1']);
});

test('a detach of a node takes the volume from the machine that had its name before, too', async t => {
  const [former, next] = [await makeNode('n1'), await makeNode('n1')];
  const { attach, detach, attached } = await open(t, [former.nodeId, next.nodeId, 'n10']);
  await attach(former.nodeId);
  await detach('n10');
  assert.equal((await attached()).length, 1);
  await detach(next.nodeId);
  assert.deepEqual(await attached(), []);
});

test('a gateway that has no key file and can make none signs nothing', async t => {
  const identity = createIdentity('hq', join(temporaryDirectory(t), 'missing', 'keys.json'));
  const gateway = await makeGateway(t, { signDetached: identity.signDetached });
  const { nodeId } = await makeNode('n1');
  await gateway.volumes.create(cluster, volumeId, volumeSpec('pvc-1'));
  await gateway.nodes.put(cluster, nodeId, {});
  const { attachment } = await gateway.attachments.attach({ cluster, volumeId, nodeId }, spec);
  assert.equal(attachment.attachment?.signature, undefined);
});
