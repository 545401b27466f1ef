import asyncHooks from 'node:async_hooks';

// The test runner tracks every promise to find the test that an unhandled rejection belongs to. This tracking takes two
// thirds of the time of a file with many promises. Without it a rejection still fails the file, with its reason.
const { createHook } = asyncHooks;
asyncHooks.createHook = callbacks => createHook({ ...callbacks, trackPromises: false });
await import('node:test');
asyncHooks.createHook = createHook;
