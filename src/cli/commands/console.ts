import { randomUUID } from 'node:crypto';
import { consoleAudience, consolePath, maxCodeMs } from '../../api/admin/console.ts';
import { claimsOf, sign } from '../../api/http/jwt.ts';
import { readKey } from '../../api/http/tokens.ts';
import { connectionSettings, gatewayCommand } from '../connection.ts';

/** Prints a link that opens the console once, within 5 minutes. */
export const consoleCommand = gatewayCommand(
  { settings: connectionSettings },
  async ({ client, call, io }, values) => {
    const { gateway, audience, 'key-file': keyFile } = values;
    // An older gateway does not say it.
    if ((await client.getStatus({}, call())).servesConsole === false)
      throw new Error(`the gateway at ${gateway} does not serve the console; start it with --console`);
    const page = new URL(consolePath, gateway).href;
    if (keyFile === undefined) {
      io.out(`${page}\n`);
      io.err('paste a token there: a link that opens the console needs a key (--key-file)\n');
      return;
    }
    const key = await readKey(keyFile);
    const claims = claimsOf({
      issuer: 'operators',
      audience: consoleAudience(audience),
      lifetimeMs: maxCodeMs,
    });
    // Programs between browser and gateway do not see the text behind the number sign.
    io.out(`${page}#code=${await sign(key, { ...claims, jti: randomUUID() })}\n`);
    io.err('the link opens the console once, within 5 minutes\n');
  },
);
