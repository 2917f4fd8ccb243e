-- The function takes a lock before it looks, see src/db/migrations/0002-queue.sql.
select * from claim_jobs($1, $2, $3, $4, $5, $6 * interval '1 millisecond', $7)
