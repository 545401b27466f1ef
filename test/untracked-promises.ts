import asyncHooks from 'node:async_hooks';

// The test runner follows every promise to find the test that an unhandled rejection belongs to. In files that make many
// promises that takes two thirds of the time. Without it a rejection still fails the file, with its reason.
const { createHook } = asyncHooks;
asyncHooks.createHook = callbacks => createHook({ ...callbacks, trackPromises: false });
await import('node:test');
asyncHooks.createHook = createHook;
