import { setTimeout } from 'node:timers/promises';
import { Problem } from 'fairlead/vendor';

type Snapshot = { id: number; name: string; size: number; timestamp: string };
/** An image, as the dashboard shows it. One that is being copied has a parent. */
export type Image = {
  size: number;
  timestamp: string;
  parent: object | null;
  snapshots: readonly Snapshot[];
};
/** What is asked of the dashboard: a method with a path, and a body. */
type Change = readonly [request: string, body?: object];
/** The REST API of Ceph's dashboard, for the images of one pool. */
export type Ceph = ReturnType<typeof openCeph>;

/** Signs in when it is not signed in, or no more. */
export function openCeph(url: string, login: object, pool: string) {
  let token: string | undefined;

  async function call(request: string, sent?: object) {
    const [method = '', path = ''] = request.split(' ');
    const accept = 'application/vnd.ceph.api.v1.0+json';
    const authorization = token && { authorization: `Bearer ${token}` };
    const headers = { accept, 'content-type': 'application/json', ...authorization };
    const body = sent ? JSON.stringify(sent) : null;
    // Whoever is redirected to gets neither the password nor the token.
    const rest = { body, redirect: 'error', signal: AbortSignal.timeout(30_000) } as const;
    const response = await fetch(new URL(`api/${path}`, url), { method, headers, ...rest });
    return { status: response.status, body: await response.json().catch(() => undefined) };
  }

  /** What the dashboard answers to a method and a path, whatever its status. */
  async function send(request: string, body?: object) {
    const answer = await call(request, body);
    if (answer.status !== 401) return answer;
    token = (await call('POST auth', login)).body?.token;
    return call(request, body);
  }

  /** What there is at a path; undefined when there is nothing. */
  async function get<T>(path: string): Promise<T | undefined> {
    const { status, body } = await send(`GET ${path}`);
    if (status !== 200 && status !== 404) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    return status === 200 ? body : undefined;
  }

  const find = (imagePath: string) => get<Image>(`${imagePath}?omit_usage=true`);

  return {
    pool,
    send,
    get,
    find,
    /** The path of an image, which is known by its RBD namespace and its name there. */
    pathOf: (namespace: string, name: string): string =>
      `block/image/${encodeURIComponent(`${pool}/${namespace}/${name}`)}`,
    /**
     * Looks at an image, changes it where it is not so yet, and looks again. What the dashboard answers to a change says
     * less: an answer may be lost, and of two changes at a time that look alike to it one is made.
     */
    async settle<T>(path: string, look: (image?: Image) => T, ...changes: readonly Change[]) {
      let status = 0;
      for (let round = 0; round < 6; round++) {
        const found = look(await find(path));
        if (found) return found;
        if (round > 0) await setTimeout(50 * 2 ** round);
        for (const change of changes) ({ status } = await send(...change));
      }
      throw new Problem('UNAVAILABLE', `Ceph has not done it yet, and answers ${status}`);
    },
  };
}

/** The image's snapshot of this name. */
export function snapshotOf(image: Image | undefined, name: string): Snapshot | undefined {
  return image?.snapshots.find(one => one.name === name);
}
