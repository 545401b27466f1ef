import { openOverGateway } from '../../../fakes/vendors/far-gateway.ts';
import { testBackend } from '../../../suites/backend.ts';

testBackend(async t => ({
  ...(await openOverGateway(t)),
  mutableParameters: { tier: 'fast' },
  coexist: true,
}));
