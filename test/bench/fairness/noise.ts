import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';

/** A request that a worker sends again and again, so many at a time (10); each `#` in it becomes the request's number. */
export type Noise = {
  readonly url: string;
  readonly method: string;
  readonly token: string;
  readonly body?: string;
  /** Sends the body in chunks, without saying how long it is. */
  readonly isChunked?: true;
  readonly atOnce?: number;
};

const { url, method, token, body, isChunked, atOnce = 10 } = workerData as Noise;
let [sent, answered] = [0, 0];

// The other cluster is not on the gateway's machine, nor on the quiet one's: of their processors this thread takes what they leave.
setPriority(constants.priority.PRIORITY_LOW);

await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (;;) {
      const number = String(sent++);
      await fetch(url.replace('#', number), {
        method,
        headers: { authorization: `Bearer ${token}` },
        ...(body !== undefined && {
          body: isChunked ? new Blob([body]).stream() : body.replace('#', number),
        }),
        ...(isChunked && { duplex: 'half' }),
      })
        .then(answer => answer.arrayBuffer())
        .catch(() => {});
      // It is under way once as many were answered as there are at a time.
      if (++answered === atOnce) parentPort?.postMessage('begun', []);
    }
  }),
);
