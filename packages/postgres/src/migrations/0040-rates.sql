-- One table for all rate limits. What was counted in the last hours goes on counting.
-- The tables `account_rate`, `webhook_window` and `sign_in_failure` stay for nodes of 0.2.0, which may run beside newer
-- ones during an upgrade: each version counts in its own tables. They are dropped one release later.
create table rate (
  -- Whose uses they are, such as `domain 7`.
  subject text not null,
  what    text not null,
  -- In order. Those that no longer count go with the next use.
  moments timestamptz[] not null,
  -- No moment counts any more.
  ends_at timestamptz not null,
  primary key (subject, what)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
create index rate_end on rate (ends_at);

insert into rate (subject, what, moments, ends_at)
select 'account ' || account_id, what, moments, now() + interval '1 hour' from account_rate;
insert into rate (subject, what, moments, ends_at)
select 'domain ' || domain_id, 'webhook', array_fill(started_at, array[least(requests, 10)]), started_at + interval '1 hour'
  from webhook_window where requests > 0;
insert into rate (subject, what, moments, ends_at)
select substr(subject, strpos(subject, ' ') + 1), what, array_fill(started_at, array[failures]), started_at + interval '15 minutes'
  from (select case when subject like 'reset %' then substr(subject, 7) else subject end as subject, failures, started_at,
               case when subject like 'reset address %' then 'reset address' when subject like 'reset account %' then 'reset account'
                    else 'sign-in ' || split_part(subject, ' ', 1) end as what
          from sign_in_failure where failures > 0) f;
insert into rate (subject, what, moments, ends_at)
select 'domain ' || domain_id, 'rule try', array_agg(requested_at order by requested_at), max(requested_at) + interval '1 day'
  from rule_try where requested_at > now() - interval '1 day' group by domain_id;
insert into rate (subject, what, moments, ends_at)
select 'domain ' || domain_id, 'deploy', deploys, deploys[cardinality(deploys)] + interval '1 day'
  from freshness where cardinality(deploys) > 0;
insert into rate (subject, what, moments, ends_at)
select 'fleet', 'certificate order', array_agg(ordered_at order by ordered_at), max(ordered_at) + interval '1 hour'
  from acme_order having count(*) > 0;
