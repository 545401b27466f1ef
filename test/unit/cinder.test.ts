import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { connectCinder } from '../../examples/cinder/cinder.ts';
import { createNamed, gibibyte } from '../../examples/cinder/names.ts';
import { openRecords } from '../../examples/cinder/records.ts';
import { hostOf, wayOf, type ConnectionInfo } from '../../examples/cinder/reach.ts';
import { createVolumes } from '../../examples/cinder/volumes.ts';
import { listen } from '../harness/listen.ts';
import { temporaryDirectory } from '../harness/temporary.ts';

const volumeId = 'a.pvc-1';
const token = { expires_at: '2999-01-01T00:00:00Z', catalog: [] };
const updated_at = '2026-11-30T12:00:00.000000';
const messageAt = (created_at: string) => ({ user_message: 'the pool is full', created_at });
const full = [messageAt('2026-11-30T12:00:01.000000')];
const earlier = [messageAt('2026-11-30T11:59:59.000000')];

/** The status of the volume before and after the first action, and Cinder's messages about it. */
type State = {
  readonly status: string;
  readonly after?: string;
  readonly messages?: typeof full;
  readonly maxBusyMs?: number;
};

/** Opens the operations over a server with one volume. It accepts every action except `os-reset_status`. */
async function open(t: TestContext, { status, after = status, messages = full, maxBusyMs }: State) {
  const actions: string[] = [];
  const answers: Readonly<Record<string, object>> = {
    'POST /v3/auth/tokens': { token },
    'GET /messages': { messages },
  };
  const server = createServer(async (request, response) => {
    const path = `${request.method} ${new URL(request.url ?? '', 'http://cinder').pathname}`;
    const [action = ''] = path.endsWith('/action') ? Object.keys((await json(request)) as object) : [];
    if (action) actions.push(action);
    const state = actions.length > 0 ? after : status;
    const volume = {
      id: 'v',
      name: volumeId,
      status: state,
      size: 1,
      created_at: '',
      updated_at,
      volume_type: 'slow',
    };
    const metadata = { fairlead: volumeId };
    const shown = { volume: { ...volume, metadata }, volumes: [{ ...volume, metadata }] };
    response.statusCode = action === 'os-reset_status' ? 403 : 200;
    response.setHeader('x-subject-token', 'token');
    response.end(JSON.stringify(answers[path] ?? shown));
  });
  const url = `http://${await listen(t, server)}`;
  const env = { OS_AUTH_URL: url, OS_VOLUME_ENDPOINT: url, OS_APPLICATION_CREDENTIAL_ID: 'a' };
  const cinder = connectCinder(env, maxBusyMs);
  const kinds = { volumes: createNamed(cinder, 'volume'), snapshots: createNamed(cinder, 'snapshot') };
  return { actions, volumes: createVolumes(cinder, openRecords(temporaryDirectory(t)), kinds) };
}

const growth = { volumeId, body: { requiredBytes: 2 * gibibyte } };
const toType = (type: string) => ({ volumeId, body: { mutableParameters: { type } } });

test('a volume on which Cinder works for too long is UNAVAILABLE', async t => {
  const detail = `volume "${volumeId}" is still "retyping" at Cinder; if cinder-volume died, reset the state of v`;
  const busy = { code: 'UNAVAILABLE', detail };
  const stuck = await open(t, { status: 'retyping', maxBusyMs: 0 });
  await assert.rejects(stuck.volumes.expandVolume(growth), busy);
  assert.deepEqual(stuck.actions, []);
  const { volumes } = await open(t, { status: 'available', after: 'retyping', maxBusyMs: 0 });
  await assert.rejects(volumes.modifyVolume(toType('fast')), busy);
});

test("an expansion that fails tells Cinder's reason, even if the user cannot reset the volume", async t => {
  const { actions, volumes } = await open(t, { status: 'available', after: 'error_extending' });
  const detail = 'Cinder cannot extend volume "a.pvc-1": the pool is full';
  await assert.rejects(volumes.expandVolume(growth), { code: 'RESOURCE_EXHAUSTED', detail });
  assert.deepEqual(actions, ['os-extend', 'os-reset_status']);
});

test('an expansion that ends without growth and without a new reason can be repeated', async t => {
  for (const after of ['error_extending', 'available'])
    for (const messages of [[], earlier]) {
      const { volumes } = await open(t, { status: 'available', after, messages });
      await assert.rejects(volumes.expandVolume(growth), { code: 'UNAVAILABLE' });
    }
});

test('the id of a volume type is refused', async t => {
  const { actions, volumes } = await open(t, { status: 'available' });
  const type = '6685584b-1eac-4da6-b5c3-555430cf68ff';
  await assert.rejects(volumes.modifyVolume(toType(type)), { code: 'INVALID_ARGUMENT' });
  assert.deepEqual(actions, []);
});

/** The connection as Cinder 29's driver `nvmet` tells it, with one subsystem for each volume or for each node. */
const uuid = '9a0d35d0-175a-11e4-8c21-080020000001';
const nvme = (name: string, port: string | number): ConnectionInfo => ({
  driver_volume_type: 'nvmeof',
  target_nqn: `nqn.iqn.2010-10.org.openstack:-${name}`,
  vol_uuid: uuid,
  portals: [
    ['127.0.0.1', port, 'tcp'],
    ['127.0.0.2', port, 'tcp'],
  ],
});

test("a volume of Cinder's driver nvmet is its namespace over all TCP portals", () => {
  const host = hostOf('n1');
  for (const info of [nvme(uuid, '4420'), nvme(host.host, 4420)])
    assert.deepEqual(wayOf(info).toReach(info, host, {}), {
      protocol: 'nvme-tcp',
      addresses: ['127.0.0.1:4420', '127.0.0.2:4420'],
      subsystem: info.target_nqn,
      wwid: `uuid.${uuid}`,
      hostNqn: host.nqn,
      hostId: host.uuid,
    });
});

test('a namespace without a UUID, and a subsystem without a TCP portal, are refused', () => {
  const portal = { target_portal: '127.0.0.1', target_port: '4420', transport_type: 'tcp', nqn: 'nqn.one' };
  const rdma = { ...nvme(uuid, '4420'), portals: [['127.0.0.1', '4420', 'RoCEv2']] as const };
  for (const info of [{ driver_volume_type: 'nvmeof', ...portal }, rdma])
    assert.throws(() => wayOf(info).toReach(info, hostOf('n1'), {}), { code: 'FAILED_PRECONDITION' });
});
