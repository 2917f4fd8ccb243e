-- A function, because it locks before it reads: packages/pages/src/queue/claims.functions.sql.
select * from claim_from_lanes($1, $2, $3, $4, $5, $6, $7, $8 * interval '1 millisecond', $9, $10, $11)
