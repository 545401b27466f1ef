import type { Advice } from '../../../../src/cli/commands/explain/facts.ts';
import { explain } from '../../../../src/cli/commands/explain/advice.ts';
import { gather } from '../../../../src/cli/commands/explain/gather.ts';
import type { Entry, Query } from '../../../../src/cli/kind.ts';
import { kinds, type KindName } from '../../../../src/cli/kinds/index.ts';
import { listAll } from '../../../../src/cli/listing.ts';
import { narrowOf } from '../../../../src/cli/output/rows.ts';
import { relations, toSentence, type RelatedQueries } from '../../../../src/cli/related.ts';
import { actionsOf } from '../actions.ts';
import { call, client, type Operator } from '../gateway.ts';
import { useLive } from '../live.ts';
import { ActButton } from '../parts/act.tsx';
import { Notice } from '../parts/notice.tsx';
import { Facts, Table } from '../parts/table.tsx';

type Described = {
  readonly entry: Entry | undefined;
  readonly health?: string;
  readonly advice: readonly Advice[];
  readonly related: readonly (readonly [KindName, readonly Entry[]])[];
};

const connection = { client, call };

type OneProps = { readonly name: KindName; readonly id: string; readonly operator: Operator };

/** One entry with everything related to it, and for a volume or snapshot the reason why it is not ready. */
export function One({ name, id, operator }: OneProps) {
  const live = useLive(`${name}/${id}`, () => load(name, id));
  const { value } = live;
  if (!value) return live.problem ? <Notice live={live} /> : <p class="empty">Loading…</p>;
  const { entry, health, advice, related } = value;
  return (
    <>
      <Notice live={live} />
      {!entry && (
        <p class="empty">
          There is no {kinds[name].one} “{id}”.
        </p>
      )}
      {advice.length > 0 && (
        <section aria-labelledby="explain">
          <h2 id="explain">Explanation</h2>
          <ul class="advice">
            {advice.map(({ isWaiting, what, todo }) => (
              <li key={what} class={isWaiting ? 'waiting' : undefined}>
                {what}
                {todo !== undefined && <span class="todo">{todo}</span>}
              </li>
            ))}
          </ul>
        </section>
      )}
      {entry && operator.role === 'operator' && (
        <p class="buttons">
          {actionsOf(name, entry).map(action => (
            <ActButton key={action.title} action={action} />
          ))}
        </p>
      )}
      {entry && <Facts name={name} entry={entry} />}
      {health !== undefined && <p>Health: {health}</p>}
      {related.map(([other, entries]) => (
        <section key={other} aria-labelledby={other}>
          <h2 id={other}>{other === 'audit-log' ? 'audit log' : other}</h2>
          <Table name={other} columns={narrowOf(kinds[other].columns)} entries={entries} />
        </section>
      ))}
    </>
  );
}

async function load(name: KindName, id: string): Promise<Described> {
  const canWait = name === 'volumes' || name === 'snapshots';
  const facts = canWait ? await gather(connection, id) : undefined;
  const entry = facts
    ? (facts.volume ?? facts.snapshot)
    : (await listAll(connection, kinds[name], { id }))[0];
  const advice = facts ? explain(facts) : [];
  if (!entry) return { entry, advice, related: [] };
  const relate = relations[name] as ((one: Entry) => RelatedQueries) | undefined;
  const queries = Object.entries(relate?.(entry) ?? {}) as [KindName, Query][];
  const related = await Promise.all(
    queries.map(async ([other, query]) => [other, await listAll(connection, kinds[other], query)] as const),
  );
  return { entry, advice, related, ...(facts?.health && { health: toSentence(facts.health) }) };
}
