-- Jobs of dead nodes: the lease expired by the database's clock, or the node's advisory lock is free. Skips locked
-- rows, which are being completed. A job with $1 faults ends: it may be what kills the nodes.
with nodes as materialized (
  select distinct node from job where state = 'running'
), dead as materialized (
  select node from nodes where pg_try_advisory_xact_lock(hashtextextended('prepaint node ' || node, 0))
), lost as (
  select id from job
   where state = 'running' and (lease_until < now() or node in (select node from dead))
     for update skip locked
), reaped as (
  update job set
    faults = faults + 1,
    state = case when faults + 1 < $1 then 'queued' else 'failed' end,
    outcome = case when faults + 1 < $1 then null else 'crashed' end,
    detail = case when faults + 1 < $1 then null else 'the node that rendered it died' end,
    finished_at = case when faults + 1 < $1 then null else now() end,
    superseded = false, node = null, lease_until = null, run_at = now()
   where id in (select id from lost)
  returning id, state, priority
)
select id, case state when 'queued' then pg_notify('job_queued', priority::text)
                      else pg_notify('job_done', id::text) end
  from reaped
