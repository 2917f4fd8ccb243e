with ended as (
  update job set state = $2, outcome = $3, detail = $4, finished_at = now(), lease_until = null
   where id = $1
  returning id
)
select pg_notify('job_done', id::text) from ended
