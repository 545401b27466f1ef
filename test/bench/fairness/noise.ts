import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { send, type Noise } from './noises.ts';

const noise = workerData as Noise;
const { atOnce = 10 } = noise;
let [sent, answered] = [0, 0];

// This thread stands for another cluster's machine, so it uses only the processor time that the gateway and the quiet
// cluster leave.
setPriority(constants.priority.PRIORITY_LOW);

await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (;;) {
      await send(noise, String(sent++))
        .then(answer => answer.arrayBuffer())
        .catch(() => {});
      // The noise is under way once the first batch was answered.
      if (++answered === atOnce) parentPort?.postMessage('begun', []);
    }
  }),
);
