/** Waking more than one thread for V8's own work takes longer than what it would do. */
const serverFlags = ['--v8-pool-size=1'];

/**
 * What Node.js is started with for a program, beside the V8 flags that fairlead.mjs sets: these are read before anything of
 * ours runs. Started without them, a program works as well, and the gateway takes some 5 % more of a processor.
 */
export const startFlags: Readonly<Record<string, readonly string[]>> = {
  // The gateway's would gain it some hundredths of a millisecond for a create and a delete, and take 4 MB.
  controller: serverFlags,
  // Of 1 MB of young objects requests in flight use a third, which is copied again and again: of 2 MB it is a sixth.
  gateway: [...serverFlags, '--max-semi-space-size=2', '--min-semi-space-size=2'],
};

/** Variables that all programs are started with: what one thread has freed, another one uses. */
export const startVariables = { MALLOC_ARENA_MAX: '1' };
