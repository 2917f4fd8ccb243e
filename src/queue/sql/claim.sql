-- The function takes a lock before it looks, see src/db/migrations/0002-queue.sql.
select claimed.*, (select settings->'render' from domain where id = claimed.domain_id) as visitor,
       (select settings->'query' from domain where id = claimed.domain_id) as query,
       (select settings->>'origin_cache_control' from domain where id = claimed.domain_id) as origin_cache_control,
       exists (select from probe where job_id = claimed.job_id) as is_probe
  from claim_jobs($1, $2, $3, $4, $5, $6 * interval '1 millisecond', $7) as claimed
