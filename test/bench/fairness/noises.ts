import { limits } from '../../../src/api/limits.ts';
import { maxBodyBytes } from '../../../src/api/operations.ts';
import { volumeSpec } from '../../harness/gateway.ts';
import { crowdedPath, readers } from './store.ts';

/** A request that a worker repeats, 10 at a time by default; each `#` becomes the request's number. */
export type Noise = {
  readonly url: string;
  readonly method: string;
  readonly token: string;
  readonly body?: string;
  /** True sends the body in chunks, without its length. */
  readonly isChunked?: true;
  readonly atOnce?: number;
  /** The expected status, which is checked once. */
  readonly status?: number;
};

/** Sends one request of a noise. */
export function send({ url, method, token, body, isChunked }: Noise, number: string): Promise<Response> {
  return fetch(url.replace('#', number), {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: isChunked ? new Blob([body]).stream() : body.replace('#', number) }),
    ...(isChunked && { duplex: 'half' }),
  });
}

/** The tokens of the cluster at most limits, the one at the limit of attachments, and one that may have no volume. */
export type Tokens = Readonly<Record<'noisy' | 'crowded' | 'full', string>>;

/** Makes long requests, creates, and the requests at each limit and beyond it. */
export function noisesOf(gateway: string, tokens: Tokens): Readonly<Record<string, Noise>> {
  const token = tokens.noisy;
  const get = (path: string): Noise => ({ url: `${gateway}/v1/${path}`, method: 'GET', token, status: 200 });
  const put = (path: string, body: unknown, status?: number): Noise => ({
    url: `${gateway}/v1/${path}`,
    method: 'PUT',
    token,
    ...(status !== undefined && { status }),
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const requisite = Array.from({ length: limits.topologyTerms.max }, (_, index) => ({
    'csi.fairlead.dev/zone': `zone-${index}`,
    'kubernetes.io/hostname': `node-${index}`,
  }));
  const topology = { requisite, preferred: requisite };
  const creates = put('volumes/noisy.n#', volumeSpec('n#'));
  const capability = { accessType: 'block', accessMode: 'MULTI_NODE_READER_ONLY' };
  const reading = { capability, readonly: true };
  const capabilities = Array.from({ length: limits.capabilities.max }, () =>
    readers(limits.mountFlagBytes.max),
  );
  const snapshot = { name: 'more-#', volumeId: 'noisy.0' };
  return {
    'topologies of 16384 terms': put('volumes/noisy.where', { ...volumeSpec('where'), topology }),
    'bodies of 1.25 MiB': put('volumes/noisy.x', longBody()),
    'bodies of 1.25 MiB in chunks': { ...put('volumes/noisy.x', longBody()), isChunked: true },
    'bodies of 2 MB without a token': { ...put('volumes/noisy.x', 'x'.repeat(2_000_000)), token: '' },
    creates,
    '500 creates at a time': { ...creates, atOnce: 500 },
    'GETs of the largest record': get('volumes/noisy.0'),
    'GETs of a volume at 1024 nodes': get('volumes/noisy.1'),
    'lists of the largest volumes with 64 grants': get('volumes'),
    'lists of volumes at 1024 nodes': { ...get('volumes'), token: tokens.crowded },
    'lists of the 1024 snapshots of a volume': get('snapshots?volumeId=noisy.0'),
    'GETs of a group of 64': get('groups/noisy.group'),
    'lists of 10000 nodes': get('nodes'),
    'grants beyond the limit': put('volumes/noisy.0/grants/quiet', { access: 'read-only' }, 507),
    'snapshots beyond the limit': put('snapshots/noisy.more-#', snapshot, 507),
    'nodes beyond the limit': put('nodes/more-#', {}, 507),
    'attaches beyond the limit of a volume': put('volumes/noisy.1/attachments/node-2000', reading, 409),
    'attaches beyond the limit of a cluster': {
      ...put(crowdedPath, reading, 409),
      token: tokens.crowded,
    },
    'records beyond the limit': put('volumes/noisy.large', volumeSpec('large', { capabilities }), 400),
    'creates beyond the quota, all in the log': {
      ...put('volumes/full.n#', volumeSpec('n#'), 507),
      token: tokens.full,
    },
  };
}

/** Makes a body of the maximum length: lists that no schema accepts. */
function longBody(): string {
  const lists = Array.from({ length: 13 }, (_, index) => [`list-${index}`, Array(8_000).fill('123456789')]);
  return JSON.stringify(Object.fromEntries(lists)).padEnd(maxBodyBytes);
}
