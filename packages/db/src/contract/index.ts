import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ContractContext } from './context.js';
import type { ContractOptions } from './fixture.js';
import { describeJournal } from './journal-contract.js';
import { describeLeases } from './lease-contract.js';
import { describeLeaseless } from './leaseless-contract.js';
import { describeLog } from './log-contract.js';
import { describeNames } from './names-contract.js';
import { describeOperators } from './operator-contract.js';
import { describeDeadLetters } from './push-operators-contract.js';
import { describePushQueue } from './push-queue-contract.js';
import { describeSettlements } from './push-settle-contract.js';
import { describeQueries } from './queries-contract.js';
import { describeReplicas } from './replica-contract.js';
import { describeRetention } from './retention-contract.js';
import { describeStrings } from './strings-contract.js';
import { describeSweep } from './sweep-contract.js';
import { describeTurns } from './turn-contract.js';

/**
 * Declares the tests every database must pass: the promises of `statements/*.ts`. To be called at the top of a jest
 * test file. Opens one database for all of them; each test makes tasks and owners of its own.
 */
export function describeDatabaseContract(options: ContractOptions): void {
  const context = new ContractContext();
  describe(`the database contract on ${options.name}`, () => {
    beforeAll(async () => context.start(await options.open()));
    afterAll(() => context.stop());

    test('the database answers', async () => {
      await context.db.ping();
      const { warnings } = await context.db.check({ maxEventBytes: 1_048_576 });
      expect(Array.isArray(warnings)).toBe(true);
    });

    describeJournal(context);
    describeTurns(context);
    describeLeases(context);
    describeSweep(context);
    describeLog(context);
    describeQueries(context);
    describeStrings(context);
    describePushQueue(context);
    describeNames(context);
    describeSettlements(context);
    describeDeadLetters(context);
    describeReplicas(context);
    describeOperators(context);
    describeRetention(context);
    describeLeaseless(context);
  });
}
