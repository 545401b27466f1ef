import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { allOperations, maxBodyBytes, type OperationId } from '../../../../src/api/operations.ts';
import { mounted, volumeSpec } from '../../../harness/gateway.ts';
import { runGateway, type RunningGateway } from '../../../harness/gateway/program.ts';

/** Bodies that would take effect if the caller were allowed to send them. */
const valid: Readonly<Partial<Record<OperationId, object>>> = {
  getCapacity: {},
  createVolume: volumeSpec('x'),
  validateVolume: { capabilities: [mounted] },
  expandVolume: { requiredBytes: 2 ** 21 },
  modifyVolume: { mutableParameters: {} },
  attachVolume: { capability: mounted, readonly: false },
  createSnapshot: { name: 'x', volumeId: 'a.x' },
  createGroup: { name: 'x', volumeIds: ['a.x'] },
  grantVolume: { access: 'read-only' },
  putNode: {},
  repair: { dryRun: false, safetyAgeMs: 0 },
};

type SentBody = { readonly hosts: number; readonly body: Buffer; readonly withheld: number };

/** The forms of a body; of a long one little more than the head is sent if nobody should read it. */
const kinds: Readonly<Record<string, (body: string) => SentBody>> = {
  'a valid body': body => ({ hosts: 1, body: Buffer.from(body), withheld: 0 }),
  'a body of the maximum length': body => ({
    hosts: 1,
    body: Buffer.from(body.padEnd(maxBodyBytes)),
    withheld: maxBodyBytes - 1_000,
  }),
  'a body that is not UTF-8': () => ({
    hosts: 1,
    body: Buffer.from('{"name":"\xFF"}', 'latin1'),
    withheld: 0,
  }),
  'two hosts': body => ({ hosts: 2, body: Buffer.from(body), withheld: 0 }),
};

/** The callers, and their answer for every body. A valid token's body is read completely before its ids are checked. */
const callers: Readonly<
  Record<
    string,
    {
      readonly as?: 'a' | 'b' | 'operators';
      readonly sees: (id: OperationId, path: string) => readonly number[] | undefined;
    }
  >
> = {
  'no token': { sees: () => [401] },
  'a bad token': { sees: () => [401] },
  'the token of another cluster': {
    as: 'b',
    sees: (id, path) => {
      if (path.startsWith('/v1/admin')) return [404];
      // A path without an owner belongs to the caller.
      if (!/\{(volume|snapshot|group)Id\}/.test(path)) return undefined;
      return /^(delete|detach)/.test(id) ? [204] : [404];
    },
  },
  "an operator's token": {
    as: 'operators',
    sees: (_, path) => (path.startsWith('/v1/admin') ? undefined : [404]),
  },
};

for (const [who, { as, sees }] of Object.entries(callers))
  for (const [what, send] of Object.entries(kinds))
    test(`every operation with ${who} and ${what} is refused as documented, and changes nothing`, async t => {
      const gateway = await runGateway(t);
      await fill(gateway);
      const before = contentOf(gateway);
      const token = as ? await gateway.signers[as].sign() : 'x.y.z';
      const authorization = who === 'no token' ? [] : [`Authorization: Bearer ${token}`];
      for (const { id, method, path, body: schema } of allOperations) {
        const expected = sees(id, path);
        if (!expected) continue;
        const sent = send(JSON.stringify(valid[id] ?? {}));
        const isRead = as === 'b' && schema !== undefined && !path.startsWith('/v1/admin');
        const isMalformed = what === 'two hosts' || (isRead && what === 'a body that is not UTF-8');
        const filled = path
          .replaceAll(/\{(\w+)Id\}/g, (_, kind) => (kind === 'node' ? 'n1' : 'a.x'))
          .replace('{grantee}', 'c');
        const route = `${method} ${filled}`;
        const status = await ask(gateway, [route, authorization], isRead ? { ...sent, withheld: 0 } : sent);
        assert.ok((isMalformed ? [400] : expected).includes(status), `${route}: ${status}`);
      }
      assert.deepEqual(contentOf(gateway), before);
    });

async function fill({ client }: RunningGateway): Promise<void> {
  const call = { deadlineMs: Date.now() + 60_000 };
  const volumeId = 'a.x';
  await client.createVolume({ volumeId, body: volumeSpec('x') }, call);
  await client.createSnapshot({ snapshotId: 'a.x', body: { name: 'x', volumeId } }, call);
  await client.createGroup({ groupId: 'a.x', body: { name: 'x', volumeIds: [volumeId] } }, call);
  await client.putNode({ nodeId: 'n1', body: {} }, call);
  await client.attachVolume({ volumeId, nodeId: 'n1', body: { capability: mounted, readonly: false } }, call);
}

/** Reads all rows of the store except its clock's. */
function contentOf({ store }: RunningGateway): unknown {
  using sql = new DatabaseSync(store, { readOnly: true });
  const names = sql.prepare("select name from sqlite_schema where type = 'table'").all();
  const tables = names.map(({ name }) => String(name)).filter(name => !/clock|^sqlite_/.test(name));
  return tables.map(name => [name, sql.prepare(`select * from "${name}"`).all()]);
}

/** Sends a request without the withheld part of its body, and returns the status of the answer. */
async function ask(
  { url }: RunningGateway,
  [route, headers]: readonly [string, readonly string[]],
  { hosts, body, withheld }: SentBody,
): Promise<number> {
  const { port, hostname, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  // A refused caller may be disconnected in the middle of a body, after the answer.
  socket.on('error', () => {});
  const head = [
    `${route} HTTP/1.1`,
    ...Array<string>(hosts).fill(`Host: ${host}`),
    ...headers,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  socket.write(body.subarray(0, body.length - withheld));
  const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(10_000) })) as [Buffer];
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d+) /.exec(answer.toString('latin1'))?.[1]);
}
