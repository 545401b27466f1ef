// `fairlead/testing`: what the author of a backend runs in tests of node:test.
export { testBackend } from './backend.ts';
export { contentOf, type Content, type OpenBackend, type Opened } from './backend-fixtures.ts';
export { testBackendTopologies } from './backend-topologies.ts';
