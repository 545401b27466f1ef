import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { CompactEncrypt } from 'jose';
import { createNode } from '../../../node-agent/node.ts';
import { newAttachmentId } from '../../../gateway/attachments/record.ts';
import { openGatewayKeys, type GatewayKeys } from '../../../node-agent/state/gateway-keys.ts';
import { openNodeKey } from '../../../node-agent/state/node-key.ts';
import { mapByteLength, maxMapBytes, toNodeId } from '../../../src/api/ids.ts';
import { asProblem } from '../../../src/api/problem.ts';
import { addDirectory } from '../../fakes/state.ts';
import { openFakeBench, startAgent } from '../../harness/node.ts';
import { seed } from '../../harness/sample.ts';
import { openSigningGateway } from './signing-gateway.ts';
import { openIscsi, records } from './connectors/worlds.ts';

const keysFile = '/bench/state/gateway.jwks.json';
const volumeId = 'a.pvc-1';
const secrets = {
  'node.session.auth.username': 'canary-user',
  'node.session.auth.password': 'canary-password',
};

const newestDirectory = '/bench/state/newest';

const otherKey = `${'B'.repeat(42)}A`;

type Context = Readonly<Record<string, string>>;

/**
 * Opens a node with an iSCSI target that demands the password, its gateway, and another gateway with a key of the same
 * name.
 */
async function open(t: TestContext, { addresses = ['192.0.2.7:3260'], knowsGateway = true } = {}) {
  const world = openIscsi(addresses);
  const { host } = world;
  world.demands.text = 'password = canary-password';
  for (const name of ['stage', 'state']) addDirectory(host.state, `/bench/${name}`);
  const gateway = await openSigningGateway(t);
  const trustIn = (keys: string): void => void host.state.texts.set(keysFile, keys);
  host.state.paths.set(keysFile, 'file');
  trustIn(gateway.keys);
  const key = await openNodeKey('/bench/state/node-key.json', host, true);
  const nodeId = toNodeId({ name: 'n1', key: key?.publicKey ?? '' });
  const agent = await startAgent({ ...openFakeBench(), host });
  let opened: GatewayKeys | undefined;
  const start = async () => {
    const files = { path: keysFile, newestPath: newestDirectory };
    const gatewayKeys = knowsGateway ? await openGatewayKeys(files, host) : undefined;
    opened = gatewayKeys;
    const trusting = { ...agent, trust: { ...agent.trust, gatewayKeys } };
    return createNode(trusting, { nodeId, key, maxVolumes: 0, topology: async () => ({}) });
  };
  let node = await start();
  const call = { deadlineMs: 0, requestId: 'r', signal: new AbortController().signal };
  const request = { volume_id: volumeId, staging_target_path: '/bench/stage/v', volume_context: {} };
  const volume_capability = {
    access_type: 'block',
    block: {},
    mount: null,
    access_mode: { mode: 'SINGLE_NODE_WRITER' },
  };
  const base = { ...request, volume_capability, secrets: {} };
  const attachment = world.attach('v');
  return {
    host,
    gateway,
    trustIn,
    nodeId,
    attachment,
    stage: (publish_context: Context, changed: object = {}) =>
      node['NodeStageVolume']?.({ ...base, publish_context, ...changed } as never, call),
    /** From here on another agent runs, on the disk of this one. */
    restart: async (): Promise<void> => void (node = await start()),
    unstage: () => node['NodeUnstageVolume']?.(request as never, call),
    attach: (made: object = {}) => gateway.attach(attachment, { volumeId, nodeId, secrets, ...made }),
    /** Everything that the agent has done to its machine so far. */
    traces: () => JSON.stringify([host.lines, [...host.state.texts.keys()], agent.records.all()]),
    records: agent.records,
    gatewayKeys: () => opened,
  };
}

test('a sealed attachment is opened for the connector, and its secrets are in no record, log or error', async t => {
  const { host, stage, unstage, attach, records: kept } = await open(t);
  await stage(await attach());
  assert.match(host.get(`${records}/192.0.2.7,3260`) ?? '', /password = canary-password/);
  const recorded = [...host.state.texts.values(), ...host.lines, inspect(kept.all(), { depth: 9 })].join(
    '\n',
  );
  assert.doesNotMatch(recorded, /canary|sealed|signature/);
  await unstage();
});

test('secrets that a target refuses are in no error', async t => {
  const { stage, attach } = await open(t);
  const wrong = { ...secrets, 'node.session.auth.password': 'canary-wrong' };
  const error: unknown = await stage(await attach({ secrets: wrong }))?.catch((thrown: unknown) => thrown);
  assert.equal(asProblem(error).code, 'UNAUTHENTICATED');
  assert.doesNotMatch(inspect(error, { depth: 9 }), /canary/);
});

type World = Awaited<ReturnType<typeof open>>;
type Row = readonly [what: string, make: (world: World, t: TestContext) => Promise<Context>, says: RegExp];

const rows: readonly Row[] = [
  ['has no signature', async ({ attach }) => without(await attach(), 'signature'), /is not signed, and this/],
  [
    'another gateway signed',
    async ({ attachment, nodeId }, t) =>
      (await openSigningGateway(t)).attach(attachment, { volumeId, nodeId, secrets }),
    /is signed with a key that is not in --gateway-keys-file$/,
  ],
  [
    'has another portal than was signed',
    async ({ attach }) => ({ ...(await attach()), portals: '192.0.2.8:3260' }),
    /is not the one that the gateway signed: it was changed, or signed with another key$/,
  ],
  [
    'has an attachment id that is newer than was signed',
    async ({ attach }) => ({ ...(await attach()), attachmentId: (await attach())['attachmentId'] ?? '' }),
    /is not the one that the gateway signed/,
  ],
  [
    'has no longer all fields that were signed',
    async ({ attach }) => without(await attach(), 'sealed'),
    /is not the one that the gateway signed/,
  ],
  [
    'is of another volume',
    ({ attach }) => attach({ volumeId: 'a.pvc-2' }),
    /is of another volume than "a.pvc-1"$/,
  ],
  [
    'is for another node',
    ({ attach }) => attach({ nodeId: toNodeId({ name: 'n1', key: otherKey }) }),
    /is for another node than "n1~[\w-]{43}"$/,
  ],
  [
    'is sealed to another key',
    async ({ attachment, nodeId, gateway }) => {
      const other = toNodeId({ name: 'n1', key: otherKey });
      const { sealed = '' } = await gateway.attach(attachment, { volumeId, nodeId: other, secrets });
      return gateway.attach({ ...attachment, sealed }, { volumeId, nodeId });
    },
    /is sealed to another key than that of this node, or was changed; detach the volume and attach it again$/,
  ],
];

/** Makes a context whose secrets come from the other one. */
function withSealOf(context: Context, other: Context): Context {
  return { ...without(context, 'signature'), sealed: other['sealed'] ?? '' };
}

const foreignSeals: readonly Row[] = [
  [
    'another volume',
    async ({ attach }) => withSealOf(await attach(), await attach({ volumeId: 'a.pvc-2' })),
    /is sealed for another volume; detach/,
  ],
  [
    'another node with this key',
    async ({ attach, nodeId }) =>
      withSealOf(await attach(), await attach({ nodeId: nodeId.replace('n1', 'n2') })),
    /is sealed for another node; detach/,
  ],
  [
    'another attachment of the volume',
    async ({ attach }) => withSealOf(await attach(), await attach()),
    /is sealed for another attachment of the volume; detach/,
  ],
  [
    'another portal',
    async ({ attach }) => ({ ...without(await attach(), 'signature'), portals: '192.0.2.8:3260' }),
    /is sealed for another way to the storage; detach/,
  ],
  [
    'another target',
    async ({ attach }) => ({
      ...without(await attach(), 'signature'),
      target: 'iqn.2003-01.org.example:other',
    }),
    /is sealed for another way to the storage; detach/,
  ],
  [
    'a reader',
    async ({ attach }) => ({ ...without(await attach(), 'signature'), readonly: 'true' }),
    /is sealed for another use of the volume; detach/,
  ],
  [
    'a volume that the node encrypts',
    async ({ attach }) => ({ ...without(await attach(), 'signature'), encryption: 'luks' }),
    /is sealed for another use of the volume; detach/,
  ],
  [
    'no attachment, as an earlier release did it,',
    async ({ attach, nodeId }) => ({
      ...without(await attach(), 'signature'),
      sealed: await sealUnbound(nodeId),
    }),
    /is sealed for another volume; detach/,
  ],
];

/** Seals secrets as a gateway does that does not bind the seal to an attachment. */
async function sealUnbound(nodeId: string): Promise<string> {
  const plain = new CompactEncrypt(new TextEncoder().encode(JSON.stringify(secrets)));
  const key = { kty: 'OKP', crv: 'X25519', x: nodeId.slice(-43) };
  return plain.setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM' }).encrypt(key);
}

for (const [what, make, says] of foreignSeals)
  test(`a seal for ${what} is FAILED_PRECONDITION at a node without gateway keys, and nothing is touched`, async t => {
    const world = await open(t, { knowsGateway: false });
    const context = await make(world, t);
    const before = world.traces();
    await assert.rejects(async () => world.stage(context), { code: 'FAILED_PRECONDITION', detail: says });
    assert.equal(world.traces(), before);
    await world.stage(without(await world.attach(), 'signature'));
    await world.unstage();
  });

test('an unbound seal is opened if the gateway signed the attachment', async t => {
  const { stage, unstage, gateway, attachment, nodeId } = await open(t);
  const sealed = await sealUnbound(nodeId);
  await stage(await gateway.attach({ ...attachment, sealed }, { volumeId, nodeId }));
  await unstage();
});

test('a seal of one gateway that another one sealed again under its own names is opened', async t => {
  const { stage, unstage, gateway, attachment, nodeId, attach } = await open(t, { knowsGateway: false });
  const far = await openSigningGateway(t);
  const farNames = { volumeId: 'far.main.a.pvc-1.n0', nodeId: `a.${nodeId}`, secrets };
  const { sealed = '' } = await far.attach(attachment, farNames);
  await stage(await gateway.attach(attachment, { volumeId, nodeId, farSealed: sealed }));
  await unstage();
  const { sealed: elsewhere = '' } = await far.attach(
    { ...attachment, portals: ['192.0.2.8:3260'] },
    farNames,
  );
  for (const context of [
    withSealOf(await attach(), { sealed }),
    await gateway.attach(attachment, { volumeId, nodeId, farSealed: elsewhere }),
  ])
    await assert.rejects(async () => stage(context), {
      code: 'FAILED_PRECONDITION',
      detail: /is sealed for another/,
    });
});

function joined(...keySets: readonly string[]): string {
  return JSON.stringify({ keys: keySets.flatMap(text => (JSON.parse(text) as { keys: unknown[] }).keys) });
}

function without(context: Context, field: string): Context {
  return Object.fromEntries(Object.entries(context).filter(([key]) => key !== field));
}

for (const [what, make, says] of rows)
  test(`an attachment that ${what} is FAILED_PRECONDITION, and nothing is touched`, async t => {
    const world = await open(t);
    const context = await make(world, t);
    const before = world.traces();
    await assert.rejects(async () => world.stage(context), { code: 'FAILED_PRECONDITION', detail: says });
    assert.equal(world.traces(), before);
  });

test('an attachment that is older than a used one is FAILED_PRECONDITION, staged or not', async t => {
  const { stage, unstage, attach, traces } = await open(t);
  const old = await attach({ atMs: Date.now() - 60_000 });
  const refused = {
    code: 'FAILED_PRECONDITION',
    detail: /is outdated: volume "a.pvc-1" has since had attachment/,
  };
  await stage(old);
  await unstage();
  const next = await attach();
  await stage(next);
  const before = traces();
  await assert.rejects(async () => stage(old), refused);
  assert.equal(traces(), before);
  await stage(next);
  await unstage();
  await assert.rejects(async () => stage(old), refused);
  await stage(next);
  await unstage();
});

test('the next agent also refuses an attachment that is older than a used one', async t => {
  const { stage, unstage, attach, restart } = await open(t);
  const [old, next] = [await attach({ atMs: Date.now() - 60_000 }), await attach()];
  for (const context of [old, next]) {
    await stage(context);
    await unstage();
  }
  await restart();
  await assert.rejects(async () => stage(old), { code: 'FAILED_PRECONDITION', detail: /is outdated/ });
  await stage(next);
  await unstage();
});

test('an old attachment is refused after 1,005 other volumes, and by the next agent', async t => {
  const { stage, unstage, attach, restart, gatewayKeys } = await open(t);
  const [old, next] = [await attach({ atMs: Date.now() - 60_000 }), await attach()];
  for (const context of [old, next]) {
    await stage(context);
    await unstage();
  }
  for (let index = 0; index < 1_005; index++)
    await gatewayKeys()?.requireNewest(`a.other-${index}`, newAttachmentId(Date.now()), undefined);
  const refused = { code: 'FAILED_PRECONDITION', detail: /is outdated/ };
  await assert.rejects(async () => stage(old), refused);
  await restart();
  await assert.rejects(async () => stage(old), refused);
  await stage(next);
  await unstage();
});

test('1,000 publish contexts with one changed bit each are all refused', async t => {
  const { stage, attach, traces } = await open(t);
  const context = await attach();
  const texts = Object.entries(context).flatMap(([key, value]) => [key, value]);
  const before = traces();
  const place = fc
    .nat(texts.length - 1)
    .chain(index => fc.tuple(fc.constant(index), fc.nat(8 * Buffer.byteLength(texts[index] ?? '') - 1)));
  const isRefused = fc.asyncProperty(place, async ([index, bit]) => {
    const bytes = Buffer.from(texts[index] ?? '');
    bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    const changed = texts.with(index, bytes.toString('latin1'));
    const entries = Object.entries(context).map((_, at) => [changed[2 * at], changed[2 * at + 1]]);
    await assert.rejects(async () => stage(Object.fromEntries(entries) as Context), {
      code: 'FAILED_PRECONDITION',
    });
  });
  await fc.assert(isRefused, { numRuns: 1_000, seed });
  assert.equal(traces(), before);
});

test('keys that are added to the file, or removed from it, count from the next attachment on', async t => {
  const { stage, unstage, attach, attachment, nodeId, trustIn, gateway } = await open(t);
  const next = await openSigningGateway(t);
  const [former, newer] = [await attach(), await next.attach(attachment, { volumeId, nodeId, secrets })];
  trustIn(joined(gateway.keys, next.keys));
  for (const context of [former, newer]) {
    await stage(context);
    await unstage();
  }
  trustIn(next.keys);
  await assert.rejects(async () => stage(former), { code: 'FAILED_PRECONDITION' });
  trustIn('no longer');
  await assert.rejects(async () => stage(newer), { code: 'UNAVAILABLE' });
});

test('an attachment with 16 portals, four secrets and the longest ids fits into a publish context', async t => {
  const portals = Array.from(
    { length: 16 },
    (_, index) => `[2001:db8:1111:2222:3333:4444:5555:${6600 + index}]:3260`,
  );
  const { gateway, attachment, nodeId } = await open(t, { addresses: portals });
  const key = nodeId.slice(-43);
  const all = ['username', 'password', 'username_in', 'password_in'].map(name => [
    `node.session.auth.${name}`,
    'x'.repeat(255),
  ]);
  const longest = {
    ...attachment,
    portals,
    target: `iqn.2003-01.org.example:${'t'.repeat(199)}`,
    serial: 's'.repeat(255),
  };
  const context = await gateway.attach(longest, {
    volumeId: `a.${'v'.repeat(126)}`,
    nodeId: toNodeId({ name: 'n'.repeat(148), key }),
    secrets: Object.fromEntries(all) as Record<string, string>,
  });
  assert.ok(mapByteLength(context) <= maxMapBytes, `${mapByteLength(context)} bytes`);
});

test('a node keeps its key, gets none while it has volumes without one, and does not start with a damaged one', async t => {
  const { host, nodeId } = await open(t);
  const path = '/bench/state/node-key.json';
  assert.equal((await openNodeKey(path, host, false))?.publicKey, nodeId.slice(-43));
  assert.equal(await openNodeKey('/bench/state/other.json', host, false), undefined);
  host.state.texts.set(path, '{"kty":"OKP"}');
  await assert.rejects(openNodeKey(path, host, true), /holds no key of a node/);
});
