import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTopology, parseTopology } from '../../../../node-agent/plugin/topology.ts';

const rows = [
  { text: 'zone=a,rack=r1', segments: { zone: 'a', rack: 'r1' } },
  { text: ' zone = a \n\nrack=r1\n', segments: { zone: 'a', rack: 'r1' } },
  { text: 'zone=,rack=r1', segments: { rack: 'r1' } },
  { text: 'zone=', segments: {} },
  { text: '', segments: {} },
  { text: `Z.o_n-e=${'x'.repeat(63)}`, segments: { 'Z.o_n-e': 'x'.repeat(63) } },
  { text: '__proto__=a', fault: /key "__proto__" is invalid/ },
  { text: 'zone', fault: /"zone" is not key=value/ },
  { text: '=a', fault: /key "" is invalid: use at most 63/ },
  { text: 'zone=a=b', fault: /value "a=b" of key "zone" is invalid/ },
  { text: 'zone=a b', fault: /value "a b"/ },
  { text: 'zone=-a', fault: /value "-a"/ },
  { text: `zone=${'x'.repeat(64)}`, fault: /value "x{64}" of key "zone"/ },
  { text: `${'x'.repeat(64)}=a`, fault: /key "x{64}" is invalid/ },
  { text: 'zone=a,Zone=b', fault: /key "Zone" is given twice/ },
  { text: 'zone=,zone=b', fault: /key "zone" is given twice/ },
  { text: 'topology.kubernetes.io/zone=a', fault: /has a prefix; remove it/ },
  { text: 'protocol-iscsi=true', fault: /is reserved for attach protocols/ },
];

for (const { text, segments, fault } of rows) {
  test(`the topology ${JSON.stringify(text).slice(0, 40)} is ${segments ? 'read' : 'refused'}`, () => {
    if (segments) assert.deepEqual(parseTopology(text), segments);
    else assert.throws(() => parseTopology(text), { message: fault });
  });
}

test("all keys have the driver's name as their only prefix, and each working protocol has a key", async () => {
  const states = [{ protocol: 'loop' }, { protocol: 'iscsi', reason: 'no module' }] as const;
  const topology = createTopology({ zone: 'a' }, 'CSI.Example', { ask: async () => states });
  assert.deepEqual(await topology(), { 'csi.example/zone': 'a', 'csi.example/protocol-loop': 'true' });
});

test('a driver name that is no domain name is refused before any call', () => {
  for (const driverName of ['csi..example', 'csi.-example'])
    assert.throws(() => createTopology({}, driverName, { ask: async () => [] }), /is not a domain name/);
});
