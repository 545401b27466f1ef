import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';

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

const { url, method, token, body, isChunked, atOnce = 10 } = workerData as Noise;
let [sent, answered] = [0, 0];

// This thread stands for another cluster's machine, so it uses only the processor time that the gateway and the quiet
// cluster leave.
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
      // The noise is under way once the first batch was answered.
      if (++answered === atOnce) parentPort?.postMessage('begun', []);
    }
  }),
);
