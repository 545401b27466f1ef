import assert from 'node:assert/strict';
import { test } from 'node:test';
import { probe } from '../../fakes/kubelet/bare-call.ts';
import { serveCsi } from '../../harness/csi-serving.ts';

/**
 * What callers say for `:authority` over a UNIX socket. The HTTP/2 library below Node's takes none with a character
 * that no authority may have, and gives no way to change that; kubelet and the sidecars say `localhost`, or the path
 * with its slashes escaped, in every version that CSI 1.13 can meet.
 */
const accepted: readonly Readonly<Record<string, string>>[] = [
  ...['localhost', '127.0.0.1', 'localhost:80', '%2Fcsi%2Fcsi.sock', 'csi.sock'].map(toAuthority),
  { host: 'localhost' },
];
const refused = [...['', '/csi/csi.sock', 'unix:/csi/csi.sock', 'a b'].map(toAuthority), {}];

test('a call with an authority that a caller has, or with a host in its place, is answered', async t => {
  const { socketPath } = await serveCsi(t);
  for (const headers of accepted)
    assert.equal(await probe(socketPath, headers), 'answered', JSON.stringify(headers));
});

test('a call with another authority, or with none, is refused, and others go on', async t => {
  const { socketPath } = await serveCsi(t);
  for (const headers of refused) {
    assert.equal(await probe(socketPath, headers), 'refused', JSON.stringify(headers));
    assert.equal(await probe(socketPath, { ':authority': 'localhost' }), 'answered');
  }
});

function toAuthority(authority: string) {
  return { ':authority': authority };
}
