-- Adds a record, updates the last render and the day's counts, and deletes records of the page beyond the last $9. None of this need
-- survive a server crash. A deleted domain or job has no record.
with kept as (
  insert into render_record (domain_id, path, variant, job_id, outcome, detail, queued_ms, stored_ms, record, request_id)
  select job.domain_id, job.path, $10, job.id, $2, $3,
         greatest(0, extract(epoch from ($4::timestamptz - job.created_at)) * 1000)::integer, $5, $6, job.request_id
    from job where job.id = $1
  returning id
), last as (
  -- A probe has no page.
  insert into last_render (domain_id, path, outcome, ended_at)
  select job.domain_id, job.path, $2, now() from job where job.id = $1 and $2 <> 'probed'
  on conflict (domain_id, path) do update set outcome = excluded.outcome, ended_at = excluded.ended_at
), usual as (
  insert into render_outcome_day as t (domain_id, day, outcome, renders)
  select job.domain_id, (now() at time zone 'UTC')::date, $2, 1 from job where job.id = $1 and $2 <> 'probed'
  on conflict (domain_id, day, outcome) do update set renders = t.renders + 1
)
delete from render_record where id in (
  select id from render_record where domain_id = $7 and path = $8 and variant = $10 and exists (select from kept)
   order by id desc offset $9 - 1 limit 100
)
