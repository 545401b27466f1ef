import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { launcherOf } from '../../../deploy/image/contents.ts';
import { startFlags, startVariables } from '../../../src/lib/start.ts';

test("the service starts the gateway with a server's flags and variables", () => {
  const unit = readFileSync(
    new URL('../../../deploy/systemd/fairlead-gateway.service', import.meta.url),
    'utf8',
  );
  assert.ok(unit.includes('\nExecStart=/usr/bin/fairlead gateway\n'));
  const script = launcherOf(['/node'], '/entry');
  assert.ok(script.includes(`\ngateway) own='${startFlags['gateway']?.join(' ')}' ;;\n`));
  for (const [name, value] of Object.entries(startVariables))
    assert.ok(unit.includes(`\nEnvironment=${name}=${value}\n`), name);
});
