import { credentials } from '@grpc/grpc-js';
import { loadNodeCsi } from './protocol.ts';

/** Makes a question to the CSI server on a socket: does it answer Probe, over a connection of its own, in time? */
export function createProbe(socketPath: string, timeoutMs: number): () => Promise<boolean> {
  const { Identity } = loadNodeCsi();
  // Without a pool of its own each question would leave a connection to the pool that all clients share.
  const options = { 'grpc.use_local_subchannel_pool': 1 };
  return () =>
    new Promise(resolve => {
      const client = new Identity(`unix://${socketPath}`, credentials.createInsecure(), options);
      client.Probe({}, { deadline: Date.now() + timeoutMs }, (error, response) => {
        client.close();
        resolve(!error && response?.ready?.value === true);
      });
    });
}
