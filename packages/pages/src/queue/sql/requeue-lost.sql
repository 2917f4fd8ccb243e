-- Jobs of dead nodes are queued again: the lease expired by the database's clock, or the node's advisory lock is free.
-- Skips locked rows, which are being completed. Those with $1 faults are for `end-lost.sql`, a statement of its own: each
-- locks the counts of its domains in their order, and both together would lock them twice, and deadlock with a claim.
with nodes as materialized (
  select distinct node from job where state = 'running'
), dead as materialized (
  select node from nodes where pg_try_advisory_xact_lock(hashtextextended('prepaint node ' || node, 0))
), lost as (
  select id from job
   where state = 'running' and faults + 1 < $1 and (lease_until < now() or node in (select node from dead))
     for update skip locked
), again as (
  update job set state = 'queued', faults = faults + 1, superseded = false, node = null, lease_until = null, run_at = now()
   where id in (select id from lost)
  returning priority
)
select pg_notify('job_queued', priority::text) from again
