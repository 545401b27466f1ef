import type {
  AdminSnapshot,
  AdminVolume,
  AuditEntry,
  Finding,
  PoolState,
} from '../../../../src/api/admin.ts';
import type { Advice } from '../../../../src/cli/commands/explain/facts.ts';
import { explain } from '../../../../src/cli/commands/explain/advice.ts';
import { gather } from '../../../../src/cli/commands/explain/gather.ts';
import type { Entry, Query } from '../../../../src/cli/kind.ts';
import { kinds, type KindName } from '../../../../src/cli/kinds/index.ts';
import { listAll } from '../../../../src/cli/listing.ts';
import { narrowOf } from '../../../../src/cli/output/rows.ts';
import { maxLogEntries, relations, toSentence, type RelatedQueries } from '../../../../src/cli/related.ts';
import { actionsOf } from '../actions.ts';
import { call, client, type Operator } from '../gateway.ts';
import { useLive } from '../live.ts';
import { ActButton } from '../parts/act.tsx';
import { Notice } from '../parts/notice.tsx';
import { Facts, Table } from '../parts/table.tsx';
import { withLocalTimes } from '../parts/values.tsx';
import { Copies } from './copies.tsx';
import { Differences } from './differences.tsx';
import { Failures } from './failures.tsx';
import { Machine } from './machine.tsx';
import { Timeline } from './timeline.tsx';

type Related = Readonly<Partial<Record<KindName, readonly Entry[]>>>;

type Described = {
  readonly entry: Entry | undefined;
  readonly health?: string;
  readonly advice: readonly Advice[];
  /** The differences of a pool to the store. */
  readonly findings: readonly Finding[];
  readonly related: Related;
};

const connection = { client, call };

/** The entries of the audit log from which the timeline of a volume is made. */
const timelineEntries = 100;

type OneProps = { readonly name: KindName; readonly id: string; readonly operator: Operator };

/** One entry with everything related to it, and for a volume or snapshot the reason why it is not ready. */
export function One({ name, id, operator }: OneProps) {
  const live = useLive(`${name}/${id}`, () => load(name, id));
  const { value } = live;
  if (!value) return live.problem ? <Notice live={live} /> : <p class="empty">Loading…</p>;
  const { entry, health, advice } = value;
  const actions = entry && operator.role === 'operator' ? actionsOf(name, entry) : [];
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
                {withLocalTimes(what)}
                {todo !== undefined && <span class="todo">{todo}</span>}
              </li>
            ))}
          </ul>
        </section>
      )}
      {actions.length > 0 && (
        <p class="buttons">
          {actions.map(action => (
            <ActButton key={action.title} action={action} />
          ))}
        </p>
      )}
      {entry && <Facts name={name} entry={entry} />}
      {health !== undefined && <p>Health: {health}</p>}
      {entry && <Parts name={name} described={{ ...value, entry }} operator={operator} />}
    </>
  );
}

type PartsProps = {
  readonly name: KindName;
  readonly described: Described & { readonly entry: Entry };
  readonly operator: Operator;
};

/** The pictures of a volume, the failures of a pool, and a table for each other related kind. */
function Parts({ name, described: { entry, findings, related }, operator }: PartsProps) {
  const { volumes, snapshots, ...tables } = related;
  // Only the changes of a cluster are about several resources.
  const hasResources = name === 'clusters';
  const log = (related['audit-log'] ?? []) as readonly AuditEntry[];
  return (
    <>
      {name === 'pools' && (
        <>
          <Failures pool={entry as PoolState} />
          <Machine pool={entry as PoolState} />
        </>
      )}
      <Differences findings={findings} isOperator={operator.role === 'operator'} />
      {name === 'volumes' && (
        <>
          <Copies
            volume={entry as AdminVolume}
            snapshots={(snapshots ?? []) as readonly AdminSnapshot[]}
            copies={(volumes ?? []) as readonly AdminVolume[]}
          />
          <Timeline attachments={(entry as AdminVolume).attachments} log={log} />
        </>
      )}
      {(Object.entries(tables) as [KindName, readonly Entry[]][]).map(([other, entries]) => (
        <section key={other} aria-labelledby={other}>
          <h2 id={other}>{other === 'audit-log' ? 'audit log' : other}</h2>
          <Table
            name={other}
            columns={narrowOf(kinds[other].columns).filter(({ head }) => hasResources || head !== 'resource')}
            entries={entries.slice(0, other === 'audit-log' ? maxLogEntries : Infinity)}
          />
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
  if (!entry) return { entry, advice, findings: [], related: {} };
  const relate = relations[name] as ((one: Entry) => RelatedQueries) | undefined;
  const queries = Object.entries(relate?.(entry) ?? {}) as [KindName, Query][];
  const [findings, ...related] = await Promise.all([
    name === 'pools' ? findDifferences(id) : [],
    ...queries.map(async ([other, query]) => {
      const isForTimeline = name === 'volumes' && other === 'audit-log';
      const asked = isForTimeline ? { ...query, limit: timelineEntries } : query;
      return [other, await listAll(connection, kinds[other], asked)] as const;
    }),
  ]);
  const health = facts?.health && { health: toSentence(facts.health) };
  return { entry, advice, findings, related: Object.fromEntries(related), ...health };
}

/** Finds the differences between the storage of a pool and the store, as the last check found them. */
async function findDifferences(pool: string): Promise<readonly Finding[]> {
  const { check } = await client.getStatus({}, call());
  return check.findings.filter(finding => finding.pool === pool);
}
