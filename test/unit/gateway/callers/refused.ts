import assert from 'node:assert/strict';
import type { Authenticator } from '../../../../gateway/callers/authenticate.ts';
import type { Problem } from '../../../../src/api/problem.ts';

/** Fails unless the error names the fault without a part of the token. */
export async function assertRefused(authenticate: Authenticator, token: string, says: RegExp): Promise<void> {
  await assert.rejects(
    async () => authenticate(`Bearer ${token}`),
    ({ code, detail, message }: Problem) => {
      assert.equal(code, 'UNAUTHENTICATED');
      assert.match(detail, says);
      assert.ok(!token.split('.').some(part => part.length > 2 && message.includes(part)));
      return true;
    },
  );
}
