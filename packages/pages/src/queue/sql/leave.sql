-- Crawlers have left these jobs: one entry per call of `enqueue_live_job`. Skips locked rows, so that it cannot wait
-- or deadlock; `wait_until` covers them.
update job set waiters = waiters - gone.edges
  from (select id, count(*) as edges from unnest($1::uuid[]) id group by id) gone
 where job.id = gone.id
   and job.id in (select id from job where id = any ($1) and state in ('queued', 'running') and wait_until is not null
                     for update skip locked)
