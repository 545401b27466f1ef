import { backends } from '../../../gateway/backends/index.ts';
import { testBackend } from '../../suites/backend.ts';

const roomBytes = 4 * 2 ** 30;

testBackend(() => backends.memory.open({ 'memory-capacity': roomBytes }), roomBytes);
