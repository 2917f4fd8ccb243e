-- A page for whoever waits for the job, and of older ones: those that nobody can be waiting for any more ($8), and of
-- this domain all but the last $9. A handful at a time, and none that another transaction is just taking away.
with late as (
  select job_id from unstored_page where made_at < $8 order by made_at limit 100 for update skip locked
), many as (
  select job_id from unstored_page where domain_id = $2 order by made_at desc offset $9 - 1 limit 100
     for update skip locked
), gone as (
  delete from unstored_page where job_id in (select job_id from late union all select job_id from many)
)
insert into unstored_page (job_id, domain_id, status, headers, body_br, html_bytes, etag, made_at)
values ($1, $2, $3, $4, $5, $6, $7, $10)
on conflict (job_id) do nothing
