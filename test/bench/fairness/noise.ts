import { workerData } from 'node:worker_threads';

/** A request that a worker sends again and again, so many at a time; each `#` in it becomes the request's number. */
export type Noise = {
  readonly url: string;
  readonly method: string;
  readonly token: string;
  readonly body?: string;
};

const concurrency = 10;
const { url, method, token, body } = workerData as Noise;
let sent = 0;

await Promise.all(
  Array.from({ length: concurrency }, async () => {
    for (;;) {
      const number = String(sent++);
      await fetch(url.replace('#', number), {
        method,
        headers: { authorization: `Bearer ${token}` },
        ...(body !== undefined && { body: body.replace('#', number) }),
      })
        .then(answer => answer.arrayBuffer())
        .catch(() => {});
    }
  }),
);
