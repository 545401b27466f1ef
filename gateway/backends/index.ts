import { dir } from './dir.ts';
import { faulty } from './faulty.ts';
import { image } from './image.ts';
import { memory } from './memory.ts';

/** Every backend, by the name that chooses it. */
export const backends = { dir, faulty, image, memory } as const;
