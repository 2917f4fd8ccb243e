-- At shutdown: unfinished jobs run elsewhere at once, and this is no fault of the page.
with given as (
  update job set state = 'queued', superseded = false, node = null, lease_until = null, run_at = now()
   where node = $1 and state = 'running'
  returning priority
)
select pg_notify('job_queued', priority::text) from (select distinct priority from given) again
