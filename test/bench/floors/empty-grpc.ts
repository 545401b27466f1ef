import { Server, ServerCredentials } from '@grpc/grpc-js';
import { loadCsi } from '../../../src/csi/protocol.ts';

// An empty grpc-js server on the UNIX socket that is named: it answers Probe, and CreateVolume and DeleteVolume without doing anything.
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
