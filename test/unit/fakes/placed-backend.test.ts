import { openPlaced } from '../../fakes/placed-backend.ts';
import { testBackendTopologies } from '../../suites/backend-topologies.ts';

const totalBytes = 16 * 2 ** 20;

testBackendTopologies(async () => {
  const topologies = [{ zone: 'a' }, { zone: 'b', rack: 'r1' }];
  const backend = openPlaced(topologies.map(segments => ({ totalBytes, segments })));
  return { backend, content: backend };
}, totalBytes);
