import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { findLacks } from '../../../../gateway/exports/kernel/machine.ts';

/** True for what is said of an address, and not of this machine's modules. */
const isOfAddress = (line: string): boolean => /another program|interface|listen/.test(line);

test('a port that another program has is told, unless that is the kernel for targets that are there', async () => {
  await using other = createServer();
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  const elsewhere = '192.0.2.1:4420';
  const lacksOf = (isServed: boolean) =>
    findLacks({ modules: [], listen: [taken, elsewhere, '[::1]:0'], isServed: () => isServed });
  const says = [`another program has ${taken}`, 'no interface of this machine has the address 192.0.2.1'];
  assert.deepEqual((await lacksOf(false)).filter(isOfAddress), says);
  assert.deepEqual((await lacksOf(true)).filter(isOfAddress), []);
});

test('many that look at one port at a time find it free', async () => {
  await using free = createServer();
  await once(free.listen(0, '127.0.0.1'), 'listening');
  const { port } = free.address() as AddressInfo;
  await free[Symbol.asyncDispose]();
  const needs = { modules: [], listen: [`127.0.0.1:${port}`], isServed: () => false };
  const all = await Promise.all(Array.from({ length: 20 }, () => findLacks(needs)));
  assert.deepEqual(
    all.flat().filter(line => line.includes(String(port))),
    [],
  );
});
