import { openOverGateway } from '../../../fakes/storages/far-gateway.ts';
import { testBackend } from '../../../suites/backend.ts';

testBackend(async t => ({
  ...(await openOverGateway(t)),
  mutableParameters: { tier: 'fast' },
  coexist: true,
}));
