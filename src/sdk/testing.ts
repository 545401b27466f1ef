// `fairlead/testing`: test suites of node:test for backends of other packages.
export { testBackend } from '../../test/suites/backend.ts';
export {
  contentOf,
  type Content,
  type OpenBackend,
  type OpenedBackend,
} from '../../test/suites/backend-fixtures.ts';
export { testBackendTopologies } from '../../test/suites/backend-topologies.ts';
