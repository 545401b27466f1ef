import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startFlags, startVariables } from '../../../src/lib/start.ts';

test("the service starts the gateway with a server's flags and variables", () => {
  const unit = readFileSync(
    new URL('../../../deploy/systemd/fairlead-gateway.service', import.meta.url),
    'utf8',
  );
  assert.ok(unit.includes(`/node ${startFlags['gateway']?.join(' ')} /opt/`));
  for (const [name, value] of Object.entries(startVariables))
    assert.ok(unit.includes(`\nEnvironment=${name}=${value}\n`), name);
});
