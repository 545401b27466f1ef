import { Server, ServerCredentials } from '@grpc/grpc-js';
import { loadCsi } from '../../../src/csi/protocol.ts';

// Serves Probe, CreateVolume and DeleteVolume from grpc-js on the given UNIX socket, without doing any work.
const csi = loadCsi();
const server = new Server();
server.addService(csi.Identity, {
  Probe: (_call: unknown, callback: (error: null, answer: object) => void) =>
    callback(null, { ready: { value: true } }),
});
server.addService(csi.Controller, {
  CreateVolume: (_call: unknown, callback: (error: null, answer: object) => void) =>
    callback(null, { volume: { volume_id: 'v' } }),
  DeleteVolume: (_call: unknown, callback: (error: null, answer: object) => void) => callback(null, {}),
});
server.bindAsync(`unix://${process.argv[2]}`, ServerCredentials.createInsecure(), error => {
  if (error) throw error;
  process.send?.('ready');
});
process.once('disconnect', () => process.exit(0));
