import assert from 'node:assert/strict';
import { test } from 'node:test';
import { probe } from '../../fakes/kubelet/bare-call.ts';
import { serveCsi } from '../../harness/csi-serving.ts';

/**
 * The values of `:authority` over a UNIX socket. Node's HTTP/2 library refuses characters that no authority may have,
 * without a way to change that; kubelet and the sidecars send `localhost`, or the path with escaped slashes, in every
 * version that supports CSI 1.13.
 */
const accepted: readonly Readonly<Record<string, string>>[] = [
  ...['localhost', '127.0.0.1', 'localhost:80', '%2Fcsi%2Fcsi.sock', 'csi.sock'].map(toAuthority),
  { host: 'localhost' },
];
const refused = [...['', '/csi/csi.sock', 'unix:/csi/csi.sock', 'a b'].map(toAuthority), {}];

test('a call with an authority that callers send, or with a host in its place, is answered', async t => {
  const { socketPath } = await serveCsi(t);
  for (const headers of accepted)
    assert.equal(await probe(socketPath, headers), 'answered', JSON.stringify(headers));
});

test('a call with another authority, or with none, is refused, and other calls succeed', async t => {
  const { socketPath } = await serveCsi(t);
  for (const headers of refused) {
    assert.equal(await probe(socketPath, headers), 'refused', JSON.stringify(headers));
    assert.equal(await probe(socketPath, { ':authority': 'localhost' }), 'answered');
  }
});

function toAuthority(authority: string) {
  return { ':authority': authority };
}
