-- Crawlers no longer wait for these jobs: one entry per call of `enqueue_live_job`, and whether they have disconnected.
-- Where one has waited until its deadline, the job goes on without crawlers. Skips locked rows, so that it cannot wait
-- or deadlock; `wait_until` covers them.
update job set waiters = waiters - gone.edges, is_for_waiting = is_for_waiting and gone.have_left
  from (select id, count(*) as edges, bool_and(has_left) as have_left
          from unnest($1::uuid[], $2::boolean[]) as ended(id, has_left) group by id) gone
 where job.id = gone.id
   and job.id in (select id from job where id = any ($1) and state in ('queued', 'running') and wait_until is not null
                     for update skip locked)
returning job.id, job.state = 'queued' and waiters <= 0 and is_for_waiting as is_abandoned
