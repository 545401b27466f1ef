import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CompactEncrypt, compactDecrypt, createLocalJWKSet, flattenedVerify } from 'jose';
import { newAttachmentId } from '../../../gateway/attachments/record.ts';
import { seal } from '../../../gateway/attachments/sealing.ts';
import { signed } from '../../../gateway/attachments/signing.ts';
import { createIdentity } from '../../../gateway/pools/identity.ts';
import { createMachine } from '../../../node-agent/host/linux.ts';
import { openGatewayKeys } from '../../../node-agent/state/gateway-keys.ts';
import { openNodeKey } from '../../../node-agent/state/node-key.ts';
import { sealHeaderOf, toPublishContext } from '../../../src/api/attachment.ts';
import { importKey, makeKey, publicHalf } from '../../../src/api/http/jwt.ts';
import { toNodeId } from '../../../src/api/ids.ts';
import { timeAlternately } from '../figure.ts';
import { inDirectory } from '../setting.ts';

/**
 * The milliseconds of one work and of its floor: the median on the clock, and the CPU time, including other threads.
 */
export type Measurement = Readonly<Record<'value' | 'floor' | 'cpu' | 'cpuFloor', number>>;

const rounds = 1_000;
const volumeId = 'east.pvc-0c4e2a52-7b61-4d29-9d3a-0a2b6f1c9e77';
const names = ['username', 'password', 'username_in', 'password_in'];
const secrets = Object.fromEntries(names.map(name => [`node.session.auth.${name}`, 'x'.repeat(32)]));
const plain = new TextEncoder().encode(JSON.stringify(secrets));
const attachment = {
  protocol: 'iscsi' as const,
  portals: ['192.0.2.7:3260', '192.0.2.8:3260'],
  target: 'iqn.2026-01.dev.fairlead:fast.0c4e2a52',
  lun: 0,
  serial: '0c4e2a52-7b61-4d29-9d3a-0a2b6f1c9e77',
  attachmentId: newAttachmentId(Date.now()),
  sizeBytes: 2 ** 30,
  readonly: false,
  mayFormat: true,
};

process.stdout.write(JSON.stringify(await inDirectory(measure)));

async function measure(dir: string): Promise<Readonly<Record<'given' | 'taken', Measurement>>> {
  const host = createMachine({ timeoutMs: 10_000 });
  const identity = createIdentity('hq', join(dir, 'keys.json'));
  await identity.prepare();
  const keysFile = join(dir, 'gateway.jwks.json');
  writeFileSync(keysFile, JSON.stringify(await identity.keySet()));
  const key = await openNodeKey(join(dir, 'node-key.json'), host, true);
  if (!key) throw new Error('there is no key');
  const nodeId = toNodeId({ name: 'n1', key: key.publicKey });
  const give = async () => {
    const { sealed = '' } = await seal(
      { ...attachment, secrets, mayFormat: false },
      { ...attachment, volumeId, nodeId },
    );
    const whole = { ...attachment, sealed };
    const resource = { volumeId, nodeId, state: 'attached', readonly: false, attachment: whole } as const;
    return toPublishContext((await signed(resource, identity.signDetached)).attachment ?? whole);
  };
  const context = await give();
  const keys = await openGatewayKeys({ path: keysFile, newestPath: join(dir, 'newest') }, host);
  const floor = await openFloor(context);
  const take = async (): Promise<void> => {
    await keys.requireSigned(context, { volumeId, nodeId });
    const bound = await sealHeaderOf({ volume: volumeId, node: nodeId }, context);
    await key.open(context['sealed'] ?? '', bound, true);
    await keys.requireNewest(volumeId, context['attachmentId'] ?? '', undefined);
  };
  return { given: await compare(give, floor.give), taken: await compare(take, floor.take) };
}

async function compare(work: Work, floorWork: Work): Promise<Measurement> {
  const { value, floor } = await timeAlternately(rounds, { value: work, floor: floorWork });
  return { value, floor, cpu: await readCpuMs(work), cpuFloor: await readCpuMs(floorWork) };
}

type Work = () => Promise<unknown>;

async function readCpuMs(work: Work): Promise<number> {
  const before = process.cpuUsage();
  for (let round = 0; round < rounds; round++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / rounds;
}

/** Prepares the same four cryptographic calls with nothing around them. */
async function openFloor(context: Readonly<Record<string, string>>) {
  const { privateKey, publicKey } = (await crypto.subtle.generateKey({ name: 'X25519' }, true, [
    'deriveBits',
  ])) as CryptoKeyPair;
  const sealTo = () =>
    new CompactEncrypt(plain).setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM' }).encrypt(publicKey);
  const own = await makeKey('floor');
  const signing = await importKey(own);
  const findKey = createLocalJWKSet({ keys: [publicHalf(own)] });
  const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: 'floor' }));
  const payload = Buffer.from(JSON.stringify(context)).toString('base64url');
  const head = header.toString('base64url');
  const signIt = () => crypto.subtle.sign('Ed25519', signing.key, Buffer.from(`${head}.${payload}`));
  const sealed = await sealTo();
  const jws = {
    protected: head,
    payload,
    signature: Buffer.from(await signIt()).toString('base64url'),
  };
  return {
    give: async () => {
      await sealTo();
      await signIt();
    },
    take: async () => {
      await flattenedVerify(jws, findKey);
      await compactDecrypt(sealed, privateKey);
    },
  };
}
