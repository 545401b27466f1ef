import { image } from './image.ts';
import { memory } from './memory.ts';

/** Every backend, by the name that chooses it. */
export const backends = { image, memory } as const;
