import type { Finding } from '../../../../src/api/admin.ts';
import { adviseFinding } from '../../../../src/cli/commands/status/differences.ts';
import { actionsOn } from '../actions.ts';
import { ActButton } from '../parts/act.tsx';
import { Link } from '../parts/link.tsx';
import { hrefOf } from '../route.ts';

type DifferencesProps = { readonly findings: readonly Finding[]; readonly isOperator: boolean };

/** The differences between the storage of a pool and the store, as the last check found them. */
export function Differences({ findings, isOperator }: DifferencesProps) {
  if (findings.length === 0) return null;
  return (
    <section aria-labelledby="differences">
      <h2 id="differences">Differences to the store</h2>
      <ul class="advice">
        {findings.map(finding => (
          <li key={`${finding.problem}${finding.id}`}>
            {finding.kind} <Name finding={finding} />: {finding.detail}
            <span class="todo">{adviseFinding(finding)}</span>
            {isOperator && actionsOn(finding).map(action => <ActButton key={action.title} action={action} />)}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** There is no page for a resource that the store does not know. */
function Name({ finding: { problem, kind, id } }: { readonly finding: Finding }) {
  return problem === 'unknown' ? <>{id}</> : <Link href={hrefOf([`${kind}s`, id])}>{id}</Link>;
}
