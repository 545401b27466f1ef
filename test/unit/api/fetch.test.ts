import { registerHooks } from 'node:module';

/** Runs the tests of the client with the module that sends its requests without undici. */
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '#exchange'
      ? next(import.meta.resolve('../../../src/api/http/fetch.ts'), context)
      : next(specifier, context),
});
await import('./client.test.ts');
await import('./client-retries.test.ts');
await import('./client-deadlines.test.ts');
await import('./answers.test.ts');
