/** Waking more threads for V8's own work would take longer than the work. */
const serverFlags = ['--v8-pool-size=1'];

/**
 * Node.js options for each program, beside the V8 flags that fairlead.mjs sets. Node.js reads them before any of our
 * code runs. A program also works without them; the gateway then uses about 5 % more CPU.
 */
export const startFlags: Readonly<Record<string, readonly string[]>> = {
  // With more threads the gateway would gain some hundredths of a millisecond for a create and a delete, and use 4 MB
  // more.
  controller: serverFlags,
  // Requests in flight use a third of 1 MB of young objects, which the collector copies again and again; of 2 MB they
  // use a sixth.
  gateway: [...serverFlags, '--max-semi-space-size=2', '--min-semi-space-size=2'],
};

/** Environment variables for all programs. With one arena a thread can use memory that another has freed. */
export const startVariables = { MALLOC_ARENA_MAX: '1' };
