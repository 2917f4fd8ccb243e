import assert from 'node:assert/strict'
import { it } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { SCHEMA } from '../../../../bin/node/schema.ts'
import { openTestDatabase } from '../../../../test/support/database.ts'
import { migrate } from '../migrate.ts'

it('what a database of 0.2.0 has counted goes on counting after the upgrade', async () => {
  const { pool, connection, column } = await openTestDatabase({ empty: true })
  await migrate(connection, SCHEMA, silentLog(), '0010-tasks.sql')
  await pool.query(`
    insert into account (id, email, plan) overriding system value values (7, 'a@example.com', 'pro');
    insert into domain (id, account_id, custom_domain, origin_url) overriding system value
      values (9, 7, 'shop.example', 'https://origin.example');
    insert into account_rate values (7, 'check', array[now() - interval '9 seconds', now()]);
    insert into webhook_window values (9, now(), 11);
    insert into sign_in_failure values ('pair 192.0.2.1 a@example.com', now(), 5), ('address 192.0.2.1', now(), 3),
      ('account a@example.com', now(), 2), ('reset address 192.0.2.1', now(), 4), ('reset account a@example.com', now(), 1),
      ('pair 192.0.2.2 b@example.com', now(), 0);
    insert into rule_try (id, domain_id, place, job_id, tried)
      select gen_random_uuid(), 9, n, gen_random_uuid(), '{}' from generate_series(0, 2) n;
    insert into freshness (domain_id, deploys) values (9, array[now() - interval '2 hours', now()]);
    insert into acme_order (ordered_at, account_id) values (now(), 7), (now(), 7)`)
  await migrate(connection, SCHEMA, silentLog(), '0040-rates.sql')
  const rates = await column<string>(
    `select concat_ws(': ', what, subject, cardinality(moments)) from rate where ends_at > now() order by what, subject`,
  )
  assert.deepEqual(rates, [
    'certificate order: fleet: 2',
    'check: account 7: 2',
    'deploy: domain 9: 2',
    'reset account: a@example.com: 1',
    'reset address: 192.0.2.1: 4',
    'rule try: domain 9: 3',
    'sign-in account: a@example.com: 2',
    'sign-in address: 192.0.2.1: 3',
    'sign-in pair: 192.0.2.1 a@example.com: 5',
    'webhook: domain 9: 10',
  ])
})
