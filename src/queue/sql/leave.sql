-- Crawlers have left these jobs: one entry for each time that `enqueue_live_job` was called for them. A row that another
-- transaction has locked at this moment is skipped, so that this can neither wait nor deadlock; `wait_until` covers it.
update job set waiters = waiters - gone.edges
  from (select id, count(*) as edges from unnest($1::uuid[]) id group by id) gone
 where job.id = gone.id
   and job.id in (select id from job where id = any ($1) and state in ('queued', 'running') and wait_until is not null
                     for update skip locked)
