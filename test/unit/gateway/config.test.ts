import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatewaySettings, readGatewayConfig } from '../../../gateway/config.ts';

const required = ['--backend', 'memory', '--store', '/s.sqlite', '--clusters-file', '/c.json'];

test('what must be given is enough', () => {
  const { config } = readGatewayConfig({ argv: required, env: {} });
  assert.deepEqual(config?.listen, { host: '127.0.0.1', port: 7700 });
  assert.deepEqual(config?.store, { engine: 'sqlite', path: '/s.sqlite' });
  assert.equal(config?.backend.name, 'memory');
  assert.deepEqual(config?.backend.settings, { capacity: 2 ** 40 });
  assert.equal(config?.audience, 'fairlead');
  assert.equal(config?.tls, undefined);
});

test('variables do as flags do, and the store may be a url', () => {
  const env = {
    FAIRLEAD_BACKEND: 'image',
    FAIRLEAD_IMAGE_DIR: '/images',
    FAIRLEAD_IMAGE_CAPACITY: '10Gi',
    FAIRLEAD_STORE: 'sqlite:/s.sqlite',
    FAIRLEAD_CLUSTERS_FILE: '/c.json',
    FAIRLEAD_TLS_CERT_FILE: '/cert.pem',
    FAIRLEAD_TLS_KEY_FILE: '/key.pem',
    FAIRLEAD_TOPOLOGY: 'x.example/zone=a, rack=r1',
  };
  const { config } = readGatewayConfig({ argv: [], env });
  assert.deepEqual(config?.backend.settings, { dir: '/images', capacity: 10 * 2 ** 30 });
  assert.deepEqual(config?.store, { engine: 'sqlite', path: '/s.sqlite' });
  assert.deepEqual(config?.tls, { certFile: '/cert.pem', keyFile: '/key.pem' });
  assert.deepEqual(config?.backend.place, { 'x.example/zone': 'a', rack: 'r1' });
});

const faulty = [
  { argv: [...required, '--claim-lease', '5ms'], says: [/^--claim-lease: "5ms" is shorter than 200ms/] },
  { argv: [], says: [/--store is required/, /--backend is required/, /--clusters-file is required/] },
  { argv: [...required, '--image-dir', '/x'], says: [/^--image-dir: is of the backend image, which is not/] },
  {
    argv: ['--backend', 'image', '--nonsense=x'],
    says: [/unknown flag --nonsense/, /--store is required/, /--clusters-file is required/],
  },
  {
    argv: ['--backend', 'image', ...required.slice(2), '--memory-capacity', '1'],
    says: [/^--image-dir: /, /^--memory-capacity: is of the backend memory/],
  },
  {
    argv: ['--backend', 'floppy', ...required.slice(2)],
    says: [/^--backend: "floppy" is not one of dir, image, memory$/],
  },
  {
    argv: [...required, '--memory-capacity', 'much'],
    says: [/^--memory-capacity: "much" is not a number of bytes/],
  },
  {
    argv: [...required, '--tls-key-file', '/k'],
    says: [/^--tls-key-file is given without --tls-cert-file$/],
  },
  {
    argv: [...required.slice(2), '--tls-cert-file', '/c'],
    says: [/--backend is required/, /^--tls-cert-file is given without --tls-key-file$/],
  },
  { argv: [...required, '--topology', 'zone'], says: [/^--topology: "zone" is not key=value$/] },
  {
    argv: [...required.slice(0, 2), ...required.slice(4), '--store', 'mysql://db'],
    says: [/^--store: "mysql" is not a kind/],
  },
  {
    argv: [...required.slice(0, 2), ...required.slice(4), '--store', 'sqlite:'],
    says: [/^--store: must not be empty$/],
  },
  { argv: [...required, '--listen', 'nowhere'], says: [/^--listen: "nowhere" is not host:port$/] },
];
for (const { argv, says } of faulty) {
  test(`${argv.join(' ') || 'nothing'} is told with every fault at once`, () => {
    const { faults = [] } = readGatewayConfig({ argv, env: {} });
    assert.equal(faults.length, says.length, faults.join('\n'));
    for (const pattern of says)
      assert.ok(
        faults.some(fault => pattern.test(fault)),
        `${pattern}: ${faults.join('\n')}`,
      );
  });
}

test("the table has every backend's settings, named after it", () => {
  for (const name of ['listen', 'store', 'backend', 'image-dir', 'image-capacity', 'memory-capacity'])
    assert.ok(gatewaySettings[name]?.doc, name);
});
