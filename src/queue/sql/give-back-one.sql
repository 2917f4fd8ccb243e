-- A render that makes room for a crawler who waits: it runs again later, and this is no fault of the page. Not one that
-- another crawler has come to wait for meanwhile.
with given as (
  update job set state = 'queued', superseded = false, node = null, lease_until = null, run_at = now()
   where id = $1 and node = $2 and attempts = $3 and state = 'running' and priority > 0
  returning priority
)
select pg_notify('job_queued', priority::text) from given
