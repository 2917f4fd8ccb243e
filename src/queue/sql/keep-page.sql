-- The usual end of a render, in one statement that is a transaction of its own: the job is still ours and no purge came
-- meanwhile, the month has room, the page is stored, the job ends, and whoever waits or holds the old page is told at
-- the commit. All of it, or nothing: then the row says why not, and no row that the job is no longer ours.
-- The job's row is locked first: a purge that comes now waits for us and then deletes what we store; one that came
-- before has marked the job superseded. The lock shows the row as it is then, not as the statement found it.
-- A result need not survive the server: the page would be rendered again.
with ours as materialized (
  select job.id, job.domain_id, job.path, job.superseded, set_config('synchronous_commit', 'off', true),
         (select probe.renew_at::text from probe where probe.domain_id = job.domain_id) is not distinct from $4 as is_judged
    from job
   where job.id = $1 and job.node = $2 and job.attempts = $3 and job.state = 'running'
     for update of job
), counted as (
  -- As `takeRender` in src/accounts/quota.ts.
  insert into render_count as c (domain_id, month, renders)
  select domain_id, $5, 1 from ours where not superseded and is_judged and 0 < $6::bigint * 6
  on conflict (domain_id, month) do update set renders = c.renders + 1
    where c.renders::bigint * 5 < $6::bigint * 6
  returning domain_id
), by_day as (
  insert into render_day as d (domain_id, day, renders) select domain_id, $7, 1 from counted
  on conflict (domain_id, day) do update set renders = d.renders + 1
), stored as (
  -- A snapshot that is the same as before lengthens the page's life, and nothing else: its bytes are not written again,
  -- and to crawlers it has not changed since. `unchanged` says so.
  insert into page as known (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at, text_chars,
                             changed_at, application)
  select ours.domain_id, ours.path, $8, $9, $10, $11, $12, $13, $14, $13, $15 from ours join counted using (domain_id)
  on conflict (domain_id, path) do update set
    status = excluded.status, headers = excluded.headers,
    body_br = case when known.etag = excluded.etag then known.body_br else excluded.body_br end,
    html_bytes = excluded.html_bytes, etag = excluded.etag, rendered_at = excluded.rendered_at,
    stale_since = null, text_chars = excluded.text_chars, doubted_at = null,
    changed_at = case when known.etag = excluded.etag and known.status = excluded.status
                      then coalesce(known.changed_at, known.rendered_at) else excluded.changed_at end,
    application = excluded.application,
    previous_application = case when known.application is distinct from excluded.application
                                then known.application else known.previous_application end
  returning domain_id, path, changed_at < rendered_at as unchanged
), no_longer as (
  delete from redirect using stored where redirect.domain_id = stored.domain_id and redirect.path = stored.path
), ended as (
  update job set state = 'done', outcome = 'rendered', detail = case when stored.unchanged then 'unchanged' end,
         finished_at = now(), lease_until = null
    from stored where job.id = $1
  returning job.id
)
select ours.superseded, ours.is_judged, stored.unchanged,
       case when ended.id is not null then
         pg_notify('invalidate', json_build_object('domain', stored.domain_id, 'path', stored.path,
           'stored', (extract(epoch from $13::timestamptz) * 1000)::bigint)::text) end,
       case when ended.id is not null then pg_notify('job_done', ended.id::text) end
  from ours left join stored on true left join ended on true
