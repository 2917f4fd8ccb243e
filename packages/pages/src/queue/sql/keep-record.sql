-- Adds records, updates the last renders and the day's counts, and deletes records of each page beyond the last $8. None of this
-- need survive a server crash. A deleted domain or job has no record.
with ended as materialized (
  select job.domain_id, job.path, job.created_at, job.request_id, given.*
    from unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[], $5::integer[], $6::text[], $7::text[]) with ordinality
      as given (job_id, outcome, detail, claimed_at, stored_ms, record, variant, at)
    cross join lateral (
      select domain_id, path, created_at, request_id from job where id = given.job_id
      union all
      -- It ended just now: other days are not searched.
      select domain_id, path, created_at, request_id from job_ended
       where id = given.job_id and finished_at between now() - interval '1 hour' and now() + interval '1 hour') job
), kept as (
  insert into render_record (domain_id, path, variant, job_id, outcome, detail, queued_ms, stored_ms, record, request_id)
  select domain_id, path, variant, job_id, outcome, detail,
         greatest(0, extract(epoch from (claimed_at - created_at)) * 1000)::integer, stored_ms, record::jsonb, request_id
    from ended order by at
  returning domain_id, path, variant
), last as (
  -- Probes and tries of rules have no page.
  insert into last_render (domain_id, path, outcome, ended_at)
  select distinct on (domain_id, path) domain_id, path, outcome, now() from ended where outcome <> 'probed' and is_page_path(path)
   order by domain_id, path, at desc
  on conflict (domain_id, path) do update set outcome = excluded.outcome, ended_at = excluded.ended_at
), usual as (
  insert into render_outcome_day as t (domain_id, day, outcome, renders)
  select domain_id, (now() at time zone 'UTC')::date, outcome, count(*) from ended where outcome <> 'probed' and is_page_path(path)
   group by domain_id, outcome order by domain_id, outcome
  on conflict (domain_id, day, outcome) do update set renders = t.renders + excluded.renders
)
delete from render_record r using (
  select kept.*, old.id from kept cross join lateral (
    select id from render_record o where (o.domain_id, o.path, o.variant) = (kept.domain_id, kept.path, kept.variant)
     order by id desc offset $8 - 1 limit 100) old
) many
 where (r.domain_id, r.path, r.variant, r.id) = (many.domain_id, many.path, many.variant, many.id)
