import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import type { Secrets } from '../../../../node-agent/connector.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { addDirectory } from '../../../fakes/state.ts';
import { block, openFakeBench, startAgent } from '../../../harness/node.ts';
import { openIscsi, records } from '../connectors/worlds.ts';

const record = `${records}/192.0.2.7,3260`;
const secrets: Secrets = {
  'node.session.auth.username': 'canary-user',
  'node.session.auth.password': 'canary-password',
};

/** Opens a node with a block volume on an iSCSI target that demands the password. */
function open() {
  const world = openIscsi(['192.0.2.7:3260']);
  const { host } = world;
  world.demands.text = 'password = canary-password';
  for (const name of ['stage', 'state']) addDirectory(host.state, `/bench/${name}`);
  const attachment = world.attach('v');
  const request = { volumeId: 'c.v', stagingPath: '/bench/stage/v', attachment, capability: block };
  return { ...world, request, start: () => startAgent({ ...openFakeBench(), host }) };
}

function assertSecret(host: ReturnType<typeof open>['host'], error?: unknown): void {
  const recorded = Array.from(host.state.texts.values()).join('\n');
  assert.doesNotMatch(`${recorded}\n${host.lines.join('\n')}\n${inspect(error, { depth: 9 })}`, /canary/);
}

test('secrets reach the connector, are in no record of the agent, and are gone after unstage', async () => {
  const { host, request, start } = open();
  const agent = await start();
  await stage(agent, request, secrets);
  assert.match(host.get(record) ?? '', /password = canary-password/);
  assert.ok(agent.records.get('c.v'));
  assertSecret(host, agent.records.all());
  await unstage(agent, request);
  assert.equal(host.get(record), undefined);
  assert.deepEqual(host.names('/sys/class/iscsi_session'), []);
});

test("a restarted agent stages a volume anew, and after a reboot with the call's secrets", async () => {
  const { host, request, start } = open();
  await stage(await start(), request, secrets);
  await stage(await start(), request, secrets);
  host.drop('/sys/class/iscsi_session');
  host.drop('/sys/class/iscsi_connection');
  host.drop('/sys/block');
  const agent = await start();
  await stage(agent, request, secrets);
  assertSecret(host);
  await unstage(agent, request);
  assert.equal(host.get(record), undefined);
});

test('after a failure of any step of a stage the next one reaches the same end, and no secret is anywhere else', async () => {
  for (let step = 1; ; step++) {
    const { host, request, start } = open();
    const agent = await start();
    host.failAt({ step, when: 'after', how: 'error' });
    const error = await stage(agent, request, secrets).catch((fault: unknown) => fault);
    const isPast = host.steps < step;
    host.failAt(undefined);
    assertSecret(host, error);
    await stage(agent, request, secrets);
    await unstage(agent, request);
    assert.equal(host.get(record), undefined);
    assertSecret(host);
    if (isPast) return;
  }
});

test('refused secrets leave nothing of the volume or of themselves', async () => {
  for (const [given, code] of [
    [{ ...secrets, 'node.session.auth.password': 'canary-wrong' }, 'UNAUTHENTICATED'],
    [{ ...secrets, password: 'canary' }, 'INVALID_ARGUMENT'],
    [{}, 'UNAUTHENTICATED'],
  ] as const) {
    const { host, request, start } = open();
    const agent = await start();
    const error = await stage(agent, request, given).catch((fault: unknown) => fault);
    assert.equal((error as { code?: string }).code, code);
    assertSecret(host, error);
    assert.deepEqual(agent.records.all(), []);
    assert.equal(host.get(record), undefined);
  }
});
