import { mkdirSync, readdirSync, rmdirSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { nodeName, type IscsiTarget } from './scsi-target.ts';
import { undoLast } from './undo.ts';

/**
 * The names and passwords of a node at a target. The target proves its own identity with the ones that end in `Mutual`.
 */
export type ChapAccount = {
  readonly userid: string;
  readonly password: string;
  readonly useridMutual?: string;
  readonly passwordMutual?: string;
};

/** Makes a target accept only this node, with CHAP, at its unit 0. */
export function demandChap(t: TestContext, { home }: IscsiTarget, account: ChapAccount): void {
  writeFileSync(`${home}/attrib/generate_node_acls`, '0');
  writeFileSync(`${home}/attrib/authentication`, '1');
  const acl = `${home}/acls/${nodeName}`;
  const unit = `${acl}/lun_0`;
  mkdirSync(acl);
  mkdirSync(unit);
  symlinkSync(`${home}/lun/lun_0`, `${unit}/unit`);
  undoLast(t, () => {
    for (const entry of readdirSync(unit, { withFileTypes: true }))
      if (entry.isSymbolicLink()) unlinkSync(`${unit}/${entry.name}`);
    rmdirSync(unit);
    rmdirSync(acl);
  });
  const { userid, password, useridMutual = 'NULL', passwordMutual = 'NULL' } = account;
  const values = { userid, password, userid_mutual: useridMutual, password_mutual: passwordMutual };
  for (const [name, value] of Object.entries(values)) writeFileSync(`${acl}/auth/${name}`, value);
}
