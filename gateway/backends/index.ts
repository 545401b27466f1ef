import { dir } from './dir.ts';
import { image } from './image.ts';
import { memory } from './memory.ts';

/** Every backend, by the name that chooses it. */
export const backends = { dir, image, memory } as const;
