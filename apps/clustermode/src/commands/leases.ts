import type { LeaseListing } from '@a2a-cluster/core';
import { EXIT_FAILED, EXIT_OK } from '../exit-code.js';
import type { Row } from '../table.js';
import { withOperator, type DatabaseCommandOptions, type ListCommandOptions } from './database.js';
import { paint, shownMs } from './shown.js';
import { show } from './watch.js';

/** Prints the leases, the next to expire first; ages and rests are by the database's clock. */
export function leases(options: ListCommandOptions): Promise<number> {
  const { config, limit, json, everyMs } = options;
  return withOperator(config, (operator) =>
    show({
      ...{ json, everyMs, title: 'Leases' },
      async read() {
        const found = await operator.leases({ limit });
        const none = 'No turn is running.';
        return { rows: found.map(leaseRow), shown: found.map(shownLease), none, paint };
      },
    }),
  );
}

/** Expires a lease now and gives the sweeper's verdict on it. */
export function releaseLease(
  options: Pick<DatabaseCommandOptions, 'config' | 'json'> & { readonly taskId: string },
): Promise<number> {
  return withOperator(options.config, async (operator) => {
    const outcome = await operator.releaseLease(options.taskId);
    const text = options.json ? JSON.stringify({ taskId: options.taskId, outcome }) : OUTCOMES[outcome];
    process.stdout.write(`${text}\n`);
    return outcome === 'failed' || outcome === 'dropped' ? EXIT_OK : EXIT_FAILED;
  });
}

const OUTCOMES = {
  failed: 'Released: the turn was given up and its task is FAILED.',
  dropped: 'Released: the task had ended or waits for its client, and is as it was.',
  not_found: 'There is no lease for this task.',
  busy: 'Somebody is writing this lease right now: try again.',
};

function leaseRow(lease: LeaseListing): Row {
  const { taskId, holder, epoch, pending, tenant, owner, cancelAgeMs } = lease;
  const [remainingMs, ageMs] = [Math.round(lease.remainingMs), Math.round(lease.ageMs)];
  return { taskId, holder, epoch, pending, remainingMs, ageMs, cancelAgeMs, tenant, owner };
}

function shownLease({ taskId, holder, epoch, remainingMs, ageMs, cancelAgeMs, tenant, owner }: LeaseListing): Row {
  return {
    ...{ task: taskId, holder, epoch, left: shownMs(remainingMs), age: shownMs(ageMs) },
    ...{ 'cancel asked': shownMs(cancelAgeMs), tenant: tenant || null, owner: owner || null },
  };
}
