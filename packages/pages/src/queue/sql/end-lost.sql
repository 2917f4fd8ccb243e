-- Jobs of dead nodes that have $1 faults end: they may be what kills the nodes. As `requeue-lost.sql`, which see.
with nodes as materialized (
  select distinct node from job where state = 'running'
), dead as materialized (
  select node from nodes where pg_try_advisory_xact_lock(hashtextextended('prepaint node ' || node, 0))
), lost as (
  select id, domain_id from job
   where state = 'running' and faults + 1 >= $1 and (lease_until < now() or node in (select node from dead))
     for update skip locked
)
select end_job(id, 'failed', 'crashed', 'the node that rendered it died')
  from (select id from lost order by domain_id) worn_out
