const PUSH = 'push-notifications/dist/delivery';
const PG = 'db/dist/postgresql/sql';
const MYSQL = 'db/dist/mysql';
const SQLITE = 'db/dist/sqlite';

const cut = (module, find, replace) => ({ module, find, replace });

/** Mutations of the delivery to webhooks. See mutations.mjs. */
export const pushMutations = [
  {
    name: 'push-position-first',
    description: 'The position moves past an event before its attempt.',
    scenarios: ['R23', 'R1'],
    why: 'What a webhook did not take, and what a sender that died was about to send, is never sent again (I8).',
    rewrites: [
      cut(
        `${PUSH}/runner.js`,
        '            if (request === null)\n                return null;',
        '            if (request === null)\n                return null;\n' +
          '            moveTo(claim, row.seq); await this.mark(claim, true);',
      ),
    ],
  },
  {
    name: 'push-retry-delivered',
    description: 'A failed attempt counts as the last one of its event.',
    scenarios: ['R23'],
    why: 'An event that a webhook answered with 500 is never accepted (I8).',
    rewrites: [
      cut(
        `${PUSH}/runner.js`,
        'await this.retry(claim, { error: outcome',
        'moveTo(claim, row.seq); await this.retry(claim, { error: outcome',
      ),
    ],
  },
  {
    name: 'push-retry-after',
    description: 'Nobody listens to Retry-After.',
    scenarios: ['R23'],
    why: 'A webhook that asked for two seconds is sent the event again after one.',
    rewrites: [cut(`${PUSH}/runner.js`, 'retryAfterMs: failure.retryAfterMs,', 'retryAfterMs: null,')],
  },
  {
    name: 'push-claim-fence',
    description: 'A settlement asks nobody whether its claim is still the sender’s own.',
    scenarios: ['R23'],
    why:
      'A sender that stood still for longer than its claim (`push.beforePost=stop`) believes, when it goes on, that it ' +
      'still has it: it sends what another has sent meanwhile, event after event (I8).',
    rewrites: [
      cut(
        `${PG}/push-settlements.js`,
        "const HELD = 'c.claim = s.claim AND c.holder IS NOT NULL';",
        "const HELD = 's.claim IS NOT NULL AND c.holder IS NOT NULL';",
      ),
      cut(
        `${MYSQL}/push-settle.js`,
        "settlement?.claim === numberAt(row, 'claim');",
        'settlement !== undefined;',
      ),
      cut(`${SQLITE}/push-queue.js`, 'WHERE c.claim = s.claim AND c.holder', 'WHERE c.holder'),
    ],
  },
  {
    name: 'push-live-claim',
    description: 'Who looks for what is due takes claims that are alive.',
    scenarios: ['R23', 'R1'],
    why: 'Two senders send one event at once, with no fault at all (I8).',
    rewrites: [
      cut(
        `${PG}/push-claims.js`,
        'WHERE c.due_at <= statement_timestamp() AND',
        'WHERE (c.due_at <= statement_timestamp() OR c.holder IS NOT NULL) AND',
      ),
      cut(
        `${MYSQL}/push-claims.js`,
        'AND c.due_at <= NOW(3)$',
        'AND (c.due_at <= NOW(3) OR c.holder IS NOT NULL)$',
      ),
      cut(
        `${MYSQL}/push-claims.js`,
        "`c.status = 'active' AND c.due_at <= SYSDATE(3)`",
        "`c.status = 'active' AND (c.due_at <= SYSDATE(3) OR c.holder IS NOT NULL)`",
      ),
      cut(
        `${SQLITE}/push-queue.js`,
        'WHERE c.due_at <= ${NOW} AND c.origin',
        'WHERE (c.due_at <= ${NOW} OR c.holder IS NOT NULL) AND c.origin',
      ),
    ],
  },
];
