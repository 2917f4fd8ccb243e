-- Jobs of dead nodes: the lease expired by the database's clock, or the node's advisory lock is free. Skips locked
-- rows, which are being completed. A job with $1 faults ends: it may be what kills the nodes.
with nodes as materialized (
  select distinct node from job where state = 'running'
), dead as materialized (
  select node from nodes where pg_try_advisory_xact_lock(hashtextextended('prepaint node ' || node, 0))
), lost as (
  select id, faults from job
   where state = 'running' and (lease_until < now() or node in (select node from dead))
     for update skip locked
), again as (
  update job set state = 'queued', faults = faults + 1, superseded = false, node = null, lease_until = null, run_at = now()
   where id in (select id from lost where faults + 1 < $1)
  returning priority
)
select pg_notify('job_queued', priority::text) from again
union all
select end_job(id, 'failed', 'crashed', 'the node that rendered it died') from lost where faults + 1 >= $1
