import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backend } from '@acme/fairlead-backend';
import { contentOf, testBackend } from 'fairlead/testing';

testBackend(async t => {
  const dir = await mkdtemp(join(tmpdir(), 'acme-'));
  t.after(() => rm(dir, { recursive: true }));
  const opened = await backend.open({ dir }, { name: 'acme', log: console });
  return { backend: opened, content: contentOf(id => join(dir, `${id}.img`)) };
});
