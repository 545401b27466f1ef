import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../../src/api/problem.ts';
import type { Protocol } from '../../src/api/attachment.ts';
import type { DeviceConnector, Secrets } from '../../node-agent/connector.ts';
import { testConnectorFaults, type FaultBench } from './connector.ts';

/** A connector on a fake machine, with a server that requires a secret at each address. */
type SecretsBench<P extends Protocol> = FaultBench<P> & {
  readonly demands: { text?: string };
  /** The addresses that do not answer. */
  readonly silent: Set<string>;
  readonly connections: () => readonly string[];
};

/** The secrets that a connector accepts and refuses. */
type SecretsSuite<P extends Protocol> = {
  readonly name: string;
  readonly connector: DeviceConnector<P>;
  readonly open: () => SecretsBench<P>;
  readonly addresses: readonly [string, string];
  readonly secrets: Secrets;
  /** The text that the server receives from these secrets and from no others. */
  readonly proof: string;
  /** A pattern that matches in every secret and must match nowhere else. */
  readonly canary: RegExp;
  /** The error code when the server refuses the node, and the command that contacts it. */
  readonly refusal: { readonly code: Problem['code']; readonly asking: RegExp };
  /** Secrets that the connector refuses: the key at fault, and the reason. */
  readonly refused: readonly (readonly [given: Secrets, key: string, why: RegExp])[];
};

/** Tests the contract of connectors that take secrets, with a fault at either end. */
export function testConnectorSecrets<P extends Protocol>(suite: SecretsSuite<P>): void {
  const { name, connector, addresses, secrets, proof, canary, refusal, refused } = suite;
  const open = () => {
    const bench = suite.open();
    bench.demands.text = proof;
    return { ...bench, attachment: bench.attach('vol1', 2 ** 20) };
  };

  testConnectorFaults({ name: `${name} with secrets`, connector, open, secrets, canary });

  test(`${name}: a connect asks each address once when the server refuses the secrets, and succeeds at an address that accepts others`, async () => {
    const { host, attachment, demands, left } = open();
    demands.text = 'another';
    await assert.rejects(connector.connect(attachment, host, secrets), ({ code, detail }: Problem) => {
      assert.equal(code, refusal.code);
      assert.doesNotMatch(detail, canary);
      return true;
    });
    assert.equal(host.lines.filter(line => refusal.asking.test(line)).length, 2);
    assert.deepEqual(left(), []);
    demands.text = proof;
    await connector.connect(attachment, host, secrets);
  });

  test(`${name}: an address that does not answer is left out, and added once it does; what stands needs no secrets`, async () => {
    const { host, attachment, silent, connections } = open();
    for (const address of addresses) silent.add(address);
    await assert.rejects(connector.connect(attachment, host, secrets), { code: 'UNAVAILABLE' });
    silent.delete(addresses[0]);
    const device = await connector.connect(attachment, host, secrets);
    assert.deepEqual(await connector.connect(attachment, host), device);
    assert.equal(connections().length, 1);
    silent.clear();
    assert.deepEqual(await connector.connect(attachment, host, secrets), device);
    assert.equal(connections().length, 2);
  });

  for (const [index, [given, key, why]] of refused.entries())
    test(`${name}: secrets are refused by the name of ${key} alone (${index}, ${why.source}), before anything is done`, async () => {
      const { host, attachment } = open();
      await assert.rejects(connector.connect(attachment, host, given), ({ code, detail }: Problem) => {
        assert.equal(code, 'INVALID_ARGUMENT');
        assert.ok(detail.startsWith(`secret "${key}" `), detail);
        assert.match(detail, why);
        assert.doesNotMatch(detail, canary);
        return true;
      });
      assert.deepEqual(host.lines, []);
    });
}
